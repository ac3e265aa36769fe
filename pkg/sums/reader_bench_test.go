package sums_test

import (
	"bytes"
	"io"
	"testing"

	"github.com/opencontainers/go-digest"

	"github.com/tofu-oci/tofu-oci/pkg/sums"
)

// In addition to hashing the content, Read copies one byte per call.
func BenchmarkReader(b *testing.B) {
	content := make([]byte, 16<<20)
	d := digest.FromBytes(content)
	buffer := make([]byte, 64<<10)
	sink := struct{ io.Writer }{io.Discard} // hides ReadFrom, so that the buffer is used
	source := func() io.Reader { return struct{ io.Reader }{bytes.NewReader(content)} }
	b.Run("hash alone", func(b *testing.B) {
		b.SetBytes(int64(len(content)))
		for b.Loop() {
			if _, err := io.CopyBuffer(struct{ io.Writer }{digest.SHA256.Hash()}, source(), buffer); err != nil {
				b.Fatal(err)
			}
		}
	})
	for name, size := range map[string]int64{"size": int64(len(content)), "no size": -1} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(content)))
			for b.Loop() {
				r := sums.NewReader(source(), "x.zip", size, d)
				if _, err := io.CopyBuffer(sink, r, buffer); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
