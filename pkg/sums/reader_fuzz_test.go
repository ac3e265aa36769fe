package sums_test

import (
	"bytes"
	"io"
	"testing"

	"github.com/opencontainers/go-digest"

	"github.com/tofu-oci/tofu-oci/pkg/sums"
)

// FuzzReader reads content with correct and wrong digests in chunks of any size. It
// checks that a read of wrong content never completes.
func FuzzReader(f *testing.F) {
	f.Fuzz(func(t *testing.T, stream, wanted []byte, sized bool, piece uint8) {
		size := int64(-1)
		if sized {
			size = int64(len(wanted))
		}
		r := sums.NewReader(bytes.NewReader(stream), "x.zip", size, digest.FromBytes(wanted))
		var got []byte
		var err error
		for p := make([]byte, int(piece)+1); err == nil; {
			var n int
			n, err = r.Read(p)
			got = append(got, p[:n]...)
		}
		switch right := bytes.Equal(stream, wanted); {
		case right && (err != io.EOF || !bytes.Equal(got, wanted)):
			t.Errorf("right content: %d of %d bytes, %v", len(got), len(wanted), err)
		case !right && (err == io.EOF || len(stream) > 0 && len(got) >= len(stream) || bytes.Equal(got, wanted) && sized && len(wanted) > 0):
			t.Errorf("wrong content: %d of %d bytes, %v", len(got), len(stream), err)
		}
	})
}
