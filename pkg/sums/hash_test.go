package sums_test

import (
	"strings"
	"testing"

	"github.com/opencontainers/go-digest"

	"github.com/tofu-oci/tofu-oci/pkg/sums"
)

// h1Empty is the h1 hash of an empty directory. It is the SHA-256 checksum of the empty
// string.
const h1Empty = "h1:47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU="

func TestZH(t *testing.T) {
	t.Parallel()
	zh := sums.ZH(sumA)
	if want := "zh:" + sumA.Encoded(); zh != want {
		t.Errorf("ZH = %q, want %q", zh, want)
	}
	if d, err := sums.ParseZH(zh); d != sumA || err != nil {
		t.Errorf("ParseZH(%q) = %s, %v", zh, d, err)
	}
	for _, bad := range []string{
		"", "zh:", sumA.Encoded(), sumA.String(), h1Empty,
		zh[:len(zh)-1], zh + "0", " " + zh, "zh:" + strings.ToUpper(sumA.Encoded()), "ZH:" + sumA.Encoded(),
	} {
		if d, err := sums.ParseZH(bad); err == nil {
			t.Errorf("ParseZH(%q) = %s", bad, d)
		}
	}
	if zh := sums.ZH(digest.NewDigestFromEncoded(digest.SHA512, sumA.Encoded())); zh == sums.ZH(sumA) {
		t.Error("ZH hides that a digest is not sha256")
	}
}

func TestParseH1(t *testing.T) {
	t.Parallel()
	if got, err := sums.ParseH1(h1Empty); got != h1Empty || err != nil {
		t.Errorf("ParseH1(%q) = %q, %v", h1Empty, got, err)
	}
	for name, bad := range map[string]string{
		"empty":        "",
		"no kind":      strings.TrimPrefix(h1Empty, "h1:"),
		"other kind":   "h2:" + strings.TrimPrefix(h1Empty, "h1:"),
		"zh":           sums.ZH(sumA),
		"31 bytes":     "h1:47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuA==",
		"no padding":   strings.TrimSuffix(h1Empty, "="),
		"surplus bits": strings.Replace(h1Empty, "SuFU=", "SuFV=", 1),
		"line break":   h1Empty[:20] + "\n" + h1Empty[20:],
		"URL alphabet": strings.Replace(h1Empty, "+", "-", 1),
	} {
		if got, err := sums.ParseH1(bad); err == nil {
			t.Errorf("%s: ParseH1(%q) = %q", name, bad, got)
		}
	}
}
