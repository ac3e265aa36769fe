package packagezip_test

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/tofu-oci/tofu-oci/internal/packagezip"
	"github.com/tofu-oci/tofu-oci/internal/testing/patience"
)

// samples returns archives that together contain every kind of record.
func samples() map[string]*forge {
	described, wide, prefixed := plain(), plain(), plain()
	for i := range described.entries {
		e := &described.entries[i]
		if !e.stored {
			e.descriptor.length = 16
		}
		e = &wide.entries[i]
		e.both = func(r *record) { r.wide, r.extra = true, []byte{0xfe, 0xca, 2, 0, 'x', 'y'} }
		if !e.stored {
			e.descriptor.length = 20
		}
	}
	wide.end = func(e *ending) { e.wide, e.maxed, e.comment = true, true, "made by hand" }
	prefixed.prefix = "#!/bin/sh\n"
	return map[string]*forge{"plain": plain(), "described": described, "wide": wide, "prefixed": prefixed}
}

// TestTruncatedArchives truncates archives at and near the start of each record.
func TestTruncatedArchives(t *testing.T) {
	t.Parallel()
	for name, f := range samples() {
		data := f.zip()
		for _, seam := range f.seams {
			for _, at := range []int{seam - 1, seam, seam + 1, seam + 4, seam + 20} {
				if at < 0 || at >= len(data) {
					continue
				}
				t.Run(fmt.Sprintf("%s, %d bytes", name, at), func(t *testing.T) {
					t.Parallel()
					if got, err := agree(t, data[:at]); got != neither && got != fallbackRefuses {
						t.Errorf("%s (%v)", got, err)
					}
				})
			}
		}
	}
}

// TestDamagedArchives changes each byte outside the contents, and checks that no change
// alters the contents.
func TestDamagedArchives(t *testing.T) {
	t.Parallel()
	patience.SkipIfShort(t)
	for name, f := range samples() {
		data := f.zip()
		want, err := open(data)
		if err != nil {
			t.Fatal(err)
		}
		c, err := want.Contents(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for i := range data {
				damaged := bytes.Clone(data)
				damaged[i] ^= []byte{0x01, 0x80, 0xff}[i%3]
				checkDamaged(t, i, damaged, c.H1)
			}
		})
	}
}

func checkDamaged(t *testing.T, at int, data []byte, h1 string) {
	t.Helper()
	_, _ = agree(t, data)
	if t.Failed() {
		t.Fatalf("the damage is at byte %d", at)
	}
	c, err := packagezip.HashStream(t.Context(), bytes.NewReader(data))
	if err == nil && c.H1 != h1 {
		t.Errorf("byte %d: H1 is now %s", at, c.H1)
	}
}
