package pull_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tofu-oci/tofu-oci/internal/opentofu/filesystem"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/pull"
	"github.com/tofu-oci/tofu-oci/pkg/source/origin"
	"github.com/tofu-oci/tofu-oci/pkg/sums"
)

// unpackedMirror is a filesystem_mirror with one unpacked package, and its source.
type unpackedMirror struct {
	dir     string // directory of the package
	source  *filesystem.Source
	pkg     provider.Package
	address provider.Address
}

func newUnpackedMirror(t *testing.T) *unpackedMirror {
	t.Helper()
	a, err := provider.ParseAddress("registry.example.org/acme/thing")
	if err != nil {
		t.Fatal(err)
	}
	v, err := provider.ParseVersion("1.2.3")
	if err != nil {
		t.Fatal(err)
	}
	root := t.TempDir()
	m := &unpackedMirror{dir: filepath.Join(root, "registry.example.org", "acme", "thing", "1.2.3", "haiku_riscv64"), address: a}
	m.write(t, "terraform-provider-thing", "program", 0o755)
	m.write(t, filepath.Join("doc", "README"), "text", 0o644)
	m.source = filesystem.New(root)
	r, err := m.source.Release(t.Context(), a, v)
	if err != nil {
		t.Fatal(err)
	}
	m.pkg = r.Packages[0]
	return m
}

func (m *unpackedMirror) write(t *testing.T, name, content string, mode os.FileMode) {
	t.Helper()
	path := filepath.Join(m.dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), mode); err != nil {
		t.Fatal(err)
	}
}

func TestFetchDirectoryIntoUnpackedSink(t *testing.T) {
	t.Parallel()
	m := newUnpackedMirror(t)
	dir := t.TempDir()
	sink, err := pull.NewSink(pull.LayoutUnpacked, dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, kept := range []bool{false, true} {
		r, done, err := pull.FetchDirectory(t.Context(), m.source, sink, m.pkg)
		if err != nil || !done || r.Kept != kept {
			t.Fatalf("done %v, kept %v, %v", done, r.Kept, err)
		}
		if want := filepath.Join(dir, "registry.example.org", "acme", "thing", "1.2.3", "haiku_riscv64"); r.Path != want {
			t.Errorf("got repository %s, want %s", r.Path, want)
		}
		if got, err := sums.H1Dir(r.Path); err != nil || got != m.pkg.H1 {
			t.Errorf("the copy's h1 is %s, want %s: %v", got, m.pkg.H1, err)
		}
		info, err := os.Stat(filepath.Join(r.Path, "terraform-provider-thing"))
		if err != nil {
			t.Fatal(err)
		}
		original, err := os.Stat(filepath.Join(m.dir, "terraform-provider-thing"))
		if err != nil {
			t.Fatal(err)
		}
		if got, want := info.Mode()&0o100, original.Mode()&0o100; got != want {
			t.Errorf("the executable has mode %s, want %s", info.Mode(), original.Mode())
		}
	}
	noLitter(t, dir)
}

func noLitter(t *testing.T, dir string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, _ os.DirEntry, err error) error {
		if strings.HasPrefix(filepath.Base(path), ".tofu-oci-") {
			t.Errorf("%s is left", path)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

func TestFetchDirectoryIntoZipSink(t *testing.T) {
	t.Parallel()
	m := newUnpackedMirror(t)
	for _, layout := range []pull.Layout{pull.LayoutZip, pull.LayoutPacked} {
		dir := filepath.Join(t.TempDir(), "mirror")
		sink, err := pull.NewSink(layout, dir, nil)
		if err != nil {
			t.Fatal(err)
		}
		_, done, err := pull.FetchDirectory(t.Context(), m.source, sink, m.pkg)
		if !done || !errors.Is(err, filesystem.ErrUnpacked) {
			t.Errorf("%s: done %v, %v", layout, done, err)
		}
		if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s: the directory was created", layout)
		}
	}
}

func TestFetchDirectorySkipsZips(t *testing.T) {
	t.Parallel()
	m := newUnpackedMirror(t)
	sink, err := pull.NewSink(pull.LayoutUnpacked, t.TempDir(), nil)
	if err != nil {
		t.Fatal(err)
	}
	foreign := m.pkg
	foreign.Locator = nil
	for name, src := range map[string]provider.Source{"a package of another source": m.source, "a source without directories": origin.New(origin.Options{})} {
		if _, done, err := pull.FetchDirectory(t.Context(), src, sink, foreign); done || err != nil {
			t.Errorf("%s: done %v, %v", name, done, err)
		}
	}
}

func TestPutDirectoryRefuses(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name   string
		change func(t *testing.T, m *unpackedMirror)
		want   func(error) bool
	}{
		{"changed files", func(t *testing.T, m *unpackedMirror) {
			m.write(t, "terraform-provider-thing", "changed", 0o755)
		}, isA[*sums.MismatchError]},
		{"an additional file", func(t *testing.T, m *unpackedMirror) {
			m.write(t, "extra", "", 0o644)
		}, isA[*sums.MismatchError]},
		{"a link", func(t *testing.T, m *unpackedMirror) {
			if err := os.Symlink("terraform-provider-thing", filepath.Join(m.dir, "link")); err != nil {
				t.Fatal(err)
			}
		}, func(err error) bool {
			return err != nil && strings.Contains(err.Error(), "link is neither a file nor a directory")
		}},
		{"no h1", func(_ *testing.T, m *unpackedMirror) { m.pkg.H1 = "" }, func(err error) bool {
			return err != nil && strings.Contains(err.Error(), "no h1 hash")
		}},
		{"a missing directory", func(t *testing.T, m *unpackedMirror) {
			if err := os.RemoveAll(m.dir); err != nil {
				t.Fatal(err)
			}
		}, func(err error) bool { return errors.Is(err, os.ErrNotExist) }},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			m := newUnpackedMirror(t)
			dir := t.TempDir()
			sink, err := pull.NewSink(pull.LayoutUnpacked, dir, nil)
			if err != nil {
				t.Fatal(err)
			}
			path := filepath.Join(dir, "registry.example.org", "acme", "thing", "1.2.3", "haiku_riscv64")
			test.change(t, m)
			if _, _, err := sink.PutDirectory(t.Context(), m.pkg, m.dir); !test.want(err) {
				t.Errorf("got %v", err)
			}
			if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
				t.Errorf("unexpected file %s", path)
			}
			noLitter(t, dir)
		})
	}
}

func isA[E error](err error) bool {
	var e E
	return errors.As(err, &e)
}

func TestPutDirectoryNeverOverwrites(t *testing.T) {
	t.Parallel()
	m := newUnpackedMirror(t)
	dir := t.TempDir()
	sink, err := pull.NewSink(pull.LayoutUnpacked, dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	there := filepath.Join(dir, "registry.example.org", "acme", "thing", "1.2.3", "haiku_riscv64", "terraform-provider-thing")
	if err := os.MkdirAll(filepath.Dir(there), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(there, []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, _, err := sink.PutDirectory(t.Context(), m.pkg, m.dir); !errors.Is(err, pull.ErrExists) {
		t.Errorf("got %v", err)
	}
	if got, err := os.ReadFile(there); err != nil || string(got) != "mine" {
		t.Errorf("got content %q afterwards, %v", got, err)
	}
}

func TestPutDirectoryIsCanceled(t *testing.T) {
	t.Parallel()
	m := newUnpackedMirror(t)
	dir := t.TempDir()
	sink, err := pull.NewSink(pull.LayoutUnpacked, dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, _, err := sink.PutDirectory(ctx, m.pkg, m.dir); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	noLitter(t, dir)
}
