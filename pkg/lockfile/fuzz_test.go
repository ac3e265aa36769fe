package lockfile_test

import (
	"bytes"
	"errors"
	"testing"

	"github.com/tofu-oci/tofu-oci/internal/stricthcl"
	"github.com/tofu-oci/tofu-oci/pkg/lockfile"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// FuzzParse checks that Parse doesn't crash. A parsed file is written unchanged, even
// after each of its selections was set again. A changed file can be parsed again.
func FuzzParse(f *testing.F) {
	for _, text := range corpus(f, 5) {
		f.Add([]byte(text))
	}
	version, err := provider.ParseVersion("9.9.9")
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		file, err := lockfile.Parse("f", text)
		if err != nil {
			if e, ok := errors.AsType[*stricthcl.Error](err); !ok || e.Line < 1 || e.Column < 1 || e.Problem == "" {
				t.Fatalf("the error is %#v", err)
			}
			return
		}
		for _, s := range file.Selections() {
			file.Set(s)
		}
		if got := file.Bytes(); !bytes.Equal(got, text) {
			t.Fatalf("%q became %q", text, got)
		}
		for i, s := range file.Selections() {
			s.Version, s.Hashes = version, append(s.Hashes, "zh:new")
			if file.Set(s); i%2 == 1 {
				file.Remove(s.Address)
			}
		}
		again, err := lockfile.Parse("f", file.Bytes())
		if err != nil {
			t.Fatalf("%v in %q of %q", err, file.Bytes(), text)
		}
		for i, s := range again.Selections() {
			if was := file.Selections()[i]; was.Address != s.Address || was.Version != s.Version || len(was.Hashes) != len(s.Hashes) {
				t.Fatalf("%v became %v", was, s)
			}
		}
	})
}
