package faults_test

import (
	"archive/zip"
	"bytes"
	"compress/flate"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/tofu-oci/tofu-oci/internal/testing/origintest"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// shape describes a zip.
type shape struct {
	// size is the executable's size in bytes. The executable's content is
	// incompressible.
	size int
	// unordered zips cannot be read as a stream.
	unordered bool
}

// small contains the shapes for most tests. One shape exceeds the read-ahead buffer.
var small = []shape{{size: 200 << 10}, {size: 3000}, {size: 70 << 10, unordered: true}, {size: 1000}}

// platforms are platforms that no test machine has.
var platforms = []provider.Platform{{OS: "haiku", Arch: "riscv64"}, {OS: "plan9", Arch: "mips64"}}

// good is a package of a release.
type good struct {
	version    string
	platform   provider.Platform
	zip        []byte
	executable []byte
}

func (g good) filename() string {
	return fmt.Sprintf("terraform-provider-thing_%s_%s.zip", g.version, g.platform)
}

// unpacked returns the package's directory below dir.
func (g good) unpacked(dir string) string {
	return filepath.Join(dir, "localhost", "acme", "thing", g.version, g.platform.String())
}

func (g good) binary() string { return "terraform-provider-thing_v" + g.version }

// goods contains all packages, one package for each shape. Each version has two
// packages.
type goods []good

func newGoods(t *testing.T, shapes []shape) goods {
	t.Helper()
	var all goods
	for i, s := range shapes {
		g := good{version: fmt.Sprintf("1.%d.0", i/len(platforms)), platform: platforms[i%len(platforms)], executable: make([]byte, s.size)}
		_, _ = rand.NewChaCha8([32]byte{byte(i)}).Read(g.executable)
		var out bytes.Buffer
		z := zip.NewWriter(&out)
		z.RegisterCompressor(zip.Deflate, func(w io.Writer) (io.WriteCloser, error) { return flate.NewWriter(w, flate.NoCompression) })
		header := &zip.FileHeader{Name: g.binary(), Method: zip.Deflate}
		if s.unordered {
			header.Method = zip.Store // the size follows the data
		}
		header.SetMode(0o755)
		entry, err := z.CreateHeader(header)
		if err == nil {
			_, err = entry.Write(g.executable)
		}
		if err == nil {
			err = z.Close()
		}
		if err != nil {
			t.Fatal(err)
		}
		g.zip = out.Bytes()
		all = append(all, g)
	}
	return all
}

// versions returns the versions from oldest to newest.
func (all goods) versions() []string {
	var versions []string
	for i := 0; i < len(all); i += len(platforms) {
		versions = append(versions, all[i].version)
	}
	return versions
}

// find returns the first package for which the function is returns true.
func (all goods) find(is func(good) bool) (good, bool) {
	for _, g := range all {
		if is(g) {
			return g, true
		}
	}
	return good{}, false
}

// size returns the size of the largest zip.
func (all goods) size() int64 {
	largest := 0
	for _, g := range all {
		largest = max(largest, len(g.zip))
	}
	return int64(largest)
}

func (all goods) offer(t *testing.T, o *origintest.Origin, signed bool) {
	t.Helper()
	for _, v := range all.versions() {
		r := origintest.Release{
			Namespace: "acme", Type: "thing", Version: v, Protocols: []string{"6.0"},
			Archives: map[provider.Platform]origintest.Archive{},
		}
		if signed {
			r.Signature, r.Keys = []byte("a signature"), []string{"a key"}
		}
		for _, g := range all {
			if g.version == v {
				r.Archives[g.platform] = origintest.Archive{Bytes: g.zip}
			}
		}
		if err := o.Add(t.Context(), r); err != nil {
			t.Fatal(err)
		}
	}
}

func (all goods) build(t *testing.T, dir string) {
	t.Helper()
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, g := range all {
		if err := os.WriteFile(filepath.Join(dir, g.filename()), g.zip, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}
