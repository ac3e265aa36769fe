// Package nouns creates values of domain types for tests.
package nouns

import (
	"archive/zip"
	"bytes"
	"io"
	"testing"

	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// No test machine has these platforms.
var (
	Haiku = provider.Platform{OS: "haiku", Arch: "riscv64"}
	Plan9 = provider.Platform{OS: "plan9", Arch: "mips"}
)

// Address parses a provider's address.
func Address(tb testing.TB, s string) provider.Address {
	tb.Helper()
	a, err := provider.ParseAddress(s)
	if err != nil {
		tb.Fatal(err)
	}
	return a
}

// Version parses a version.
func Version(tb testing.TB, s string) provider.Version {
	tb.Helper()
	v, err := provider.ParseVersion(s)
	if err != nil {
		tb.Fatal(err)
	}
	return v
}

// Zip returns the zip of a package whose executable contains text.
func Zip(t *testing.T, text string) []byte {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	header := &zip.FileHeader{Name: "terraform-provider-thing", Method: zip.Deflate}
	header.SetMode(0o755)
	w, err := z.CreateHeader(header)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(w, text); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}
