package artifact

import (
	"strings"
	"testing"

	"github.com/opencontainers/go-digest"
)

// TestIsSHA256 compares isSHA256 with the validation of the digest package.
func TestIsSHA256(t *testing.T) {
	t.Parallel()
	hex := strings.Repeat("0123456789abcdef", 4)
	for _, text := range []string{
		"", "sha256:", "sha256:" + hex, "sha256:" + hex[1:], "sha256:" + hex + "0", "sha256:" + hex[1:] + "g", "sha256:" + hex[1:] + "A",
		"sha256:" + hex[1:] + "\n", "sha256:" + hex[2:] + "é", "sha512:" + hex + hex, "SHA256:" + hex, hex, "sha256:/" + hex[1:], "sha256::" + hex[1:],
	} {
		d := digest.Digest(text)
		if want := d.Validate() == nil && d.Algorithm() == digest.SHA256; isSHA256(d) != want {
			t.Errorf("%q: got %t", text, !want)
		}
	}
}
