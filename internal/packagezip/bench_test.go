package packagezip_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/opencontainers/go-digest"

	"github.com/tofu-oci/tofu-oci/internal/packagezip"
	"github.com/tofu-oci/tofu-oci/internal/testing/origintest"
	"github.com/tofu-oci/tofu-oci/pkg/sums"
)

// realistic returns a package of about 100 MB that unpacks to about 250 MB. Like a
// typical Go program, it contains a large executable and some documents.
func realistic(b *testing.B) []byte {
	b.Helper()
	r := rand.New(rand.NewPCG(1, 2))
	words := make([][]byte, 4096)
	for i := range words {
		words[i] = make([]byte, 3+r.IntN(12))
		for j := range words[i] {
			words[i][j] = byte(r.UintN(256))
		}
	}
	program := make([]byte, 0, 240<<20)
	for len(program) < 240<<20 {
		// A few words are frequent, and most words are rare.
		at := int(r.ExpFloat64()*600) % len(words)
		program = append(program, words[at]...)
		program = append(program, byte(r.UintN(64)))
	}
	entries := []entry{{name: "terraform-provider-x_v1.0.0", content: string(program), header: mode(0o755)}, {name: "LICENSE", content: text}}
	for i := range 50 {
		entries = append(entries, entry{name: fmt.Sprintf("docs/%d.md", i), content: text})
	}
	return deflated(b, entries...)
}

// verified returns a reader of the archive that verifies the digest, as downloads do.
func verified(data []byte, d digest.Digest) io.Reader {
	return sums.NewReader(bytes.NewReader(data), "x.zip", int64(len(data)), d)
}

// BenchmarkPackage compares two ways of reading an archive: in one pass, and by copying
// the archive to a file that is decompressed for each result. Throughput is in bytes of
// the archive.
func BenchmarkPackage(b *testing.B) {
	data := realistic(b)
	d := digest.FromBytes(data)
	b.Logf("%d bytes", len(data))
	ways := []struct {
		name string
		run  func(ctx context.Context, b *testing.B)
	}{
		{"h1-spooled", func(ctx context.Context, b *testing.B) {
			b.Helper()
			spool, size := spool(b, data, d)
			_, err := origintest.H1(spool, size)
			check(b, err)
		}},
		{"h1-stream", func(ctx context.Context, b *testing.B) {
			b.Helper()
			_, err := packagezip.HashStream(ctx, verified(data, d))
			check(b, err)
		}},
		{"h1-writer", func(ctx context.Context, b *testing.B) {
			b.Helper()
			w := packagezip.NewHashWriter(ctx)
			defer w.Close()
			_, err := io.Copy(w, verified(data, d))
			check(b, err)
			_, err = w.Contents()
			check(b, err)
		}},
		{"unpack-spooled", func(ctx context.Context, b *testing.B) {
			b.Helper()
			spool, size := spool(b, data, d)
			_, err := origintest.H1(spool, size)
			check(b, err)
			r, err := packagezip.Open(spool, size)
			check(b, err)
			check(b, r.Unpack(ctx, b.TempDir()))
		}},
		{"unpack-spooled-once", func(ctx context.Context, b *testing.B) {
			b.Helper()
			spool, size := spool(b, data, d)
			r, err := packagezip.Open(spool, size)
			check(b, err)
			_, err = r.Extract(ctx, b.TempDir())
			check(b, err)
		}},
		{"unpack-stream", func(ctx context.Context, b *testing.B) {
			b.Helper()
			_, err := packagezip.UnpackStream(ctx, verified(data, d), b.TempDir())
			check(b, err)
		}},
	}
	for _, way := range ways {
		b.Run(way.name, func(b *testing.B) {
			b.SetBytes(int64(len(data)))
			b.ReportAllocs()
			for b.Loop() {
				way.run(b.Context(), b)
			}
		})
	}
}

// spool writes the archive to a file for random access.
func spool(b *testing.B, data []byte, d digest.Digest) (*os.File, int64) {
	b.Helper()
	f, err := os.Create(filepath.Join(b.TempDir(), "spool"))
	check(b, err)
	b.Cleanup(func() { _ = f.Close() })
	size, err := io.Copy(f, verified(data, d))
	check(b, err)
	return f, size
}

func check(b *testing.B, err error) {
	b.Helper()
	if err != nil {
		b.Fatal(err)
	}
}
