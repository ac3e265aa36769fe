package sums_test

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/opencontainers/go-digest"

	"github.com/tofu-oci/tofu-oci/pkg/sums"
)

// The digests of two short strings.
var (
	sumA = digest.FromString("a")
	sumB = digest.FromString("b")
)

func TestFile(t *testing.T) {
	t.Parallel()
	entries := map[string]digest.Digest{"b.zip": sumB, "a.zip": sumA}
	f := sums.New(entries)
	delete(entries, "a.zip") // this must not modify f

	want := sumA.Encoded() + "  a.zip\n" + sumB.Encoded() + "  b.zip\n"
	if diff := cmp.Diff(want, string(f.Bytes())); diff != "" {
		t.Error("Bytes (-want +got):\n" + diff)
	}
	if diff := cmp.Diff([]string{"a.zip", "b.zip"}, f.Names()); diff != "" {
		t.Error("Names (-want +got):\n" + diff)
	}
	if d, found := f.Lookup("a.zip"); d != sumA || !found {
		t.Errorf("Lookup = %s, %t", d, found)
	}
	if d, found := f.Lookup("c.zip"); d != "" || found {
		t.Errorf("Lookup of an unlisted file = %s, %t", d, found)
	}
}

func TestFileCheck(t *testing.T) {
	t.Parallel()
	f := sums.New(map[string]digest.Digest{"a.zip": sumA})
	if err := f.Check("a.zip", sumA); err != nil {
		t.Error(err)
	}
	var missing *sums.FileError
	if err := f.Check("b.zip", sumA); !errors.As(err, &missing) || missing.Missing != "b.zip" {
		t.Errorf("unlisted: %v", err)
	}
	var mismatch *sums.MismatchError
	if err := f.Check("a.zip", sumB); !errors.As(err, &mismatch) {
		t.Fatalf("other digest: %v", err)
	}
	want := sums.MismatchError{Name: "a.zip", Got: sumB.String(), Want: sumA.String()}
	if diff := cmp.Diff(want, *mismatch); diff != "" {
		t.Error("-want +got:\n" + diff)
	}
	if err := (sums.File{}).Check("a.zip", sumA); !errors.As(err, &missing) {
		t.Errorf("zero value: %v", err)
	}
}

func TestFileEqual(t *testing.T) {
	t.Parallel()
	f := sums.New(map[string]digest.Digest{"a.zip": sumA})
	for name, g := range map[string]sums.File{
		"other digest": sums.New(map[string]digest.Digest{"a.zip": sumB}),
		"other name":   sums.New(map[string]digest.Digest{"b.zip": sumA}),
		"more":         sums.New(map[string]digest.Digest{"a.zip": sumA, "b.zip": sumB}),
		"none":         {},
	} {
		if f.Equal(g) || g.Equal(f) {
			t.Errorf("%s: equal", name)
		}
	}
	if !f.Equal(sums.New(map[string]digest.Digest{"a.zip": sumA})) {
		t.Error("the same is not equal")
	}
}
