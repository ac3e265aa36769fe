package artifact

import (
	"fmt"
	"strings"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
)

// checkDescriptor returns an error if the digest is not SHA-256 or if the size is
// invalid. If limit is negative, the size is unlimited.
func checkDescriptor(d ocispec.Descriptor, limit int64) error {
	if err := checkDigest(d.Digest); err != nil {
		return err
	}
	if d.Size < 0 || limit >= 0 && d.Size > limit {
		return fmt.Errorf("invalid size %d", d.Size)
	}
	return nil
}

// TypesOf returns the media type and the artifact type of a manifest or index of any
// kind. The media type is "" if the document doesn't state it. If the document isn't
// JSON, the error is a *[FormatError].
func TypesOf(data []byte) (mediaType, artifactType string, err error) {
	doc, err := parseDocument(data)
	return doc.MediaType, artifactTypeOf(doc), err
}

func checkDigest(d digest.Digest) error {
	if isSHA256(d) {
		return nil
	}
	if err := d.Validate(); err != nil {
		return fmt.Errorf("invalid digest %q: %w", clip(string(d)), err)
	}
	return fmt.Errorf("invalid digest %q: want sha256", clip(string(d)))
}

// isSHA256 reports whether d is "sha256:" followed by 64 lower-case hexadecimal digits.
// It is faster than [digest.Digest.Validate], which uses regular expressions.
func isSHA256(d digest.Digest) bool {
	encoded, found := strings.CutPrefix(string(d), "sha256:")
	if !found || len(encoded) != 64 {
		return false
	}
	for _, c := range []byte(encoded) {
		if (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return false
		}
	}
	return true
}

// clip truncates text from repositories for use in messages.
func clip(s string) string {
	const maxLength = 100
	if len(s) > maxLength {
		s = s[:maxLength] + "…"
	}
	return strings.ToValidUTF8(s, "�")
}
