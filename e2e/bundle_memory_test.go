//go:build linux

package e2e_test

import (
	"context"
	"crypto/sha256"
	"encoding"
	"errors"
	"fmt"
	"hash"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/opencontainers/go-digest"

	"github.com/tofu-oci/tofu-oci/e2e/fixture"
	"github.com/tofu-oci/tofu-oci/pkg/artifact"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
)

// BenchmarkBundle transfers 20 GiB through a bundle. The zips consist of zeros, and holes
// replace the zeros in complete files, so that the disk needs space for only a few zips.
// The benchmark fails if the program exceeds its memory limit.
func BenchmarkBundle(b *testing.B) {
	const zips, zipSize = 20, 1 << 30
	for b.Loop() {
		dir := b.TempDir()
		from := "oci-layout:" + filepath.ToSlash(dir) + "/{type}"
		fillSparse(b, filepath.Join(dir, "big"), zips, zipSize)
		idle := peakOf(b, command(b, programs.tofuOCI, "list", "acme/big", "--from", from))
		stored := filepath.Join(dir, "registry")
		if err := os.Mkdir(stored, 0o700); err != nil {
			b.Fatal(err)
		}
		host, stop, err := fixture.StartRegistry(b.Context(), programs.registry, stored, "", world.ca)
		if err != nil {
			b.Fatal(err)
		}
		b.Cleanup(stop)
		finish := digHoles(b, dir)
		most := map[string]int64{}
		most["create"] = peakOf(b, command(b, programs.tofuOCI, "bundle", "create", "acme/big", "--all", "--from", from, "--part-size", "1100MB", "--out", filepath.Join(dir, "big.tar")))
		parts, err := filepath.Glob(filepath.Join(dir, "big.*.tar"))
		if err != nil || len(parts) != zips {
			b.Fatalf("%d parts, %v", len(parts), err)
		}
		most["import"] = peakOf(b, command(b, programs.tofuOCI, append([]string{"bundle", "import", "--to", host + "/{type}", "--ca-file", world.caFile}, parts...)...))
		finish()
		for name, m := range most {
			b.ReportMetric(float64(m-idle)/(1<<20), name+"-above-idle-MiB")
			if m-idle > memoryLimit {
				b.Errorf("bundle %s used %d MiB above the idle program, want at most %d", name, (m-idle)>>20, memoryLimit>>20)
			}
		}
	}
}

// fillSparse creates an image layout with versions of acme/big. Each version has one zip,
// which is a sparse file of zeros and a number.
func fillSparse(b *testing.B, dir string, versions int, size int64) {
	b.Helper()
	zeros := sha256.New()
	block := make([]byte, 1<<20)
	for range size >> 20 {
		_, _ = zeros.Write(block)
	}
	repo := repository.NewLayout(dir)
	blobs := filepath.Join(dir, "blobs", "sha256")
	if err := os.MkdirAll(blobs, 0o700); err != nil {
		b.Fatal(err)
	}
	for i := range versions {
		number := fmt.Appendf(nil, "%08d", i)
		p := provider.Package{
			Address: provider.Address{Host: provider.DefaultHost, Namespace: "acme", Type: "big"}, Platform: provider.Platform{OS: "linux", Arch: "amd64"},
			Digest: digest.NewDigest(digest.SHA256, extend(b, zeros, number)), Size: size + int64(len(number)), H1: "h1:47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=",
		}
		var err error
		if p.Version, err = provider.ParseVersion(fmt.Sprintf("1.0.%d", i)); err != nil {
			b.Fatal(err)
		}
		p.Filename = provider.Filename(p.Address, p.Version, p.Platform)
		f, err := os.Create(filepath.Join(blobs, p.Digest.Encoded()))
		if err != nil {
			b.Fatal(err)
		}
		_, err = f.WriteAt(number, size)
		packed, packErr := artifact.Pack(provider.Release{Address: p.Address, Version: p.Version, Protocols: []string{"5.0"}, Packages: []provider.Package{p}}, artifact.Options{})
		if err := errors.Join(err, f.Close(), packErr); err != nil {
			b.Fatal(err)
		}
		if _, _, err := repository.Push(b.Context(), repo, packed, repository.Inspection{Tag: artifact.Tag(p.Version)}, repository.PushOptions{}); err != nil {
			b.Fatal(err)
		}
	}
}

// extend returns the hash of more content, without changing the state of h.
func extend(b *testing.B, h hash.Hash, more []byte) hash.Hash {
	b.Helper()
	state, err := h.(encoding.BinaryMarshaler).MarshalBinary()
	longer := sha256.New()
	if err == nil {
		err = longer.(encoding.BinaryUnmarshaler).UnmarshalBinary(state)
	}
	if err != nil {
		b.Fatal(err)
	}
	_, _ = longer.Write(more)
	return longer
}

// digHoles replaces zeros by holes in the files below a directory that are no longer
// written, until finish is called.
func digHoles(b *testing.B, dir string) (finish func()) {
	b.Helper()
	ctx, cancel := context.WithCancel(b.Context())
	var group sync.WaitGroup
	group.Go(func() {
		for ctx.Err() == nil {
			_ = filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
				if err != nil || !entry.Type().IsRegular() {
					return nil //nolint:nilerr // other programs rename files
				}
				info, err := entry.Info()
				if err != nil || time.Since(info.ModTime()) < time.Second {
					return nil //nolint:nilerr // as above
				}
				if stat, ok := info.Sys().(*syscall.Stat_t); ok && stat.Blocks*512 > 64<<20 {
					_ = exec.CommandContext(ctx, "fallocate", "--dig-holes", path).Run()
				}
				return ctx.Err()
			})
			select {
			case <-ctx.Done():
			case <-time.After(200 * time.Millisecond):
			}
		}
	})
	return func() {
		cancel()
		group.Wait()
	}
}
