package sums

import (
	"encoding/base64"
	"fmt"
	"strings"

	"github.com/opencontainers/go-digest"
)

// Kinds of hashes in a dependency lock file. The hash of the archive itself is
// "zh", the hash of what is in it "h1".
// https://opentofu.org/docs/language/files/dependency-lock/#understanding-lock-file-changes
const (
	prefixZH = "zh:"
	prefixH1 = "h1:"
)

// h1Bytes is the length of the SHA-256 that an h1 hash encodes.
const h1Bytes = 32

// ZH writes a sha256 digest as a lock file's "zh:hex".
func ZH(d digest.Digest) string {
	return prefixZH + strings.TrimPrefix(d.String(), digest.SHA256.String()+":")
}

// ParseZH reads "zh:" and 64 lower-case hexadecimal digits as the digest that
// they are.
func ParseZH(s string) (digest.Digest, error) {
	encoded, found := strings.CutPrefix(s, prefixZH)
	d := digest.NewDigestFromEncoded(digest.SHA256, encoded)
	if !found || d.Validate() != nil {
		return "", fmt.Errorf("hash %q: must be \"zh:\" and 64 hexadecimal digits in lower case", s)
	}
	return d, nil
}

// ParseH1 checks that s is "h1:" and the base64 form of 32 bytes, and gives it
// back. Equal hashes are equal strings, since only the canonical base64 passes.
func ParseH1(s string) (string, error) {
	encoded, found := strings.CutPrefix(s, prefixH1)
	raw, err := base64.StdEncoding.DecodeString(encoded)
	// The decoder skips line breaks and ignores surplus bits; writing the bytes
	// again shows both.
	if !found || err != nil || len(raw) != h1Bytes || base64.StdEncoding.EncodeToString(raw) != encoded {
		return "", fmt.Errorf("hash %q: must be \"h1:\" and the base64 form of %d bytes", s, h1Bytes)
	}
	return s, nil
}
