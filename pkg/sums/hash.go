package sums

import (
	"encoding/base64"
	"fmt"
	"strings"

	"github.com/opencontainers/go-digest"
)

// Prefixes of hashes in a dependency lock file. "zh" is the prefix of an archive's
// hash. "h1" is the prefix of a hash of the archive's contents. See
// https://opentofu.org/docs/language/files/dependency-lock/#understanding-lock-file-changes.
const (
	prefixZH = "zh:"
	prefixH1 = "h1:"
)

// h1Bytes is the length of the SHA-256 checksum in an h1 hash.
const h1Bytes = 32

// ZH returns a SHA-256 digest in the format of lock files, "zh:hex".
func ZH(d digest.Digest) string {
	return prefixZH + strings.TrimPrefix(d.String(), digest.SHA256.String()+":")
}

// ParseZH parses "zh:" followed by 64 lower-case hexadecimal digits, and returns the
// digest.
func ParseZH(s string) (digest.Digest, error) {
	encoded, found := strings.CutPrefix(s, prefixZH)
	d := digest.NewDigestFromEncoded(digest.SHA256, encoded)
	if !found || d.Validate() != nil {
		return "", fmt.Errorf("invalid hash %q: want \"zh:\" followed by 64 lower-case hexadecimal digits", s)
	}
	return d, nil
}

// ParseH1 returns s if it is "h1:" followed by the canonical base64 encoding of 32
// bytes. Equal hashes are therefore equal strings.
func ParseH1(s string) (string, error) {
	encoded, found := strings.CutPrefix(s, prefixH1)
	raw, err := base64.StdEncoding.DecodeString(encoded)
	// The decoder ignores line breaks and surplus bits, so compare with the canonical
	// encoding.
	if !found || err != nil || len(raw) != h1Bytes || base64.StdEncoding.EncodeToString(raw) != encoded {
		return "", fmt.Errorf("invalid hash %q: want \"h1:\" followed by the base64 encoding of %d bytes", s, h1Bytes)
	}
	return s, nil
}
