//go:build !windows

package pull_test

import (
	"archive/zip"
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/pull"
	"github.com/tofu-oci/tofu-oci/pkg/sums"
)

// TestSinkPaths checks addresses that programs could write in different ways. want is
// the path that OpenTofu 1.12's internal/getproviders returns.
func TestSinkPaths(t *testing.T) {
	t.Parallel()
	tests := []struct {
		address, version, want string
	}{
		{"hashicorp/time", "0.14.2", "registry.opentofu.org/hashicorp/time/0.14.2/plan9_riscv64"},
		{"Bücher.example/acme/x", "1.0.0", "bücher.example/acme/x/1.0.0/plan9_riscv64"},
		{"Registry.Example:8443/Acme/X", "1.0", "registry.example:8443/acme/x/1.0.0/plan9_riscv64"},
		{"registry.example:443/acme/x", "1.0.0", "registry.example/acme/x/1.0.0/plan9_riscv64"},
		{"acme/x", "1.0.0-rc.1+build.5", "registry.opentofu.org/acme/x/1.0.0-rc.1+build.5/plan9_riscv64"},
	}
	for _, test := range tests {
		p := sinkPackage(t, sinkZip(t, "one", "terraform-provider-x"))
		var err error
		if p.Address, err = provider.ParseAddress(test.address); err != nil {
			t.Fatal(err)
		}
		if p.Version, err = provider.ParseVersion(test.version); err != nil {
			t.Fatal(err)
		}
		s, err := pull.NewSink(pull.LayoutUnpacked, "dir", nil)
		if err != nil {
			t.Fatal(err)
		}
		got, _, err := s.Has(t.Context(), p)
		if err != nil || got != "dir/"+test.want {
			t.Errorf("%s %s is at %s, %v; want dir/%s", test.address, test.version, got, err, test.want)
		}
	}
}

func TestUnpackedSinkKeepsExecutableBits(t *testing.T) {
	t.Parallel()
	var buf bytes.Buffer
	w := zip.NewWriter(&buf)
	for name, mode := range map[string]os.FileMode{"terraform-provider-x": 0o755, "LICENSE": 0o644} {
		h := &zip.FileHeader{Name: name}
		h.SetMode(mode)
		if _, err := w.CreateHeader(h); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	s, err := pull.NewSink(pull.LayoutUnpacked, t.TempDir(), nil)
	if err != nil {
		t.Fatal(err)
	}
	path, _, err := s.Put(t.Context(), sinkPackage(t, buf.Bytes()), opening(bytes.NewReader(buf.Bytes())))
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]bool{"terraform-provider-x": true, "LICENSE": false} {
		fi, err := os.Stat(filepath.Join(path, name))
		if err != nil {
			t.Fatal(err)
		}
		if got := fi.Mode()&0o100 != 0; got != want {
			t.Errorf("%s has mode %v", name, fi.Mode())
		}
	}
}

func TestSinkRefusesDanglingLinks(t *testing.T) {
	t.Parallel()
	eachSink(t, func(t *testing.T, c sinkCase, dir string) {
		checkObstacle(t, c, dir, func(path string) error { return os.Symlink("nowhere", path) })
	})
}

// TestUnpackedSinkFollowsALink checks that links in a plugin cache are followed.
func TestUnpackedSinkFollowsALink(t *testing.T) {
	t.Parallel()
	data := sinkZip(t, "one", "terraform-provider-x")
	c := sinkCase{layout: pull.LayoutUnpacked, place: sinkTree, p: sinkPackage(t, data), zip: data}
	elsewhere, dir := t.TempDir(), t.TempDir()
	checkPut(t, sinkAt(t, c, elsewhere), c, elsewhere, false)
	if err := os.MkdirAll(filepath.Join(dir, sinkParent, "1.2.0"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join(elsewhere, sinkTree), filepath.Join(dir, sinkTree)); err != nil {
		t.Fatal(err)
	}
	checkPut(t, sinkAt(t, c, dir), c, dir, true)
	if _, ok, err := sinkAt(t, c, dir).Has(t.Context(), c.p); !ok || err != nil {
		t.Errorf("Has returned %v, %v, want true", ok, err)
	}
}

// TestUnpackedSinkRequiresExecutable checks that a directory is rejected if its
// executable lacks the executable bit.
func TestUnpackedSinkRequiresExecutable(t *testing.T) {
	t.Parallel()
	data := sinkZip(t, "one", "terraform-provider-x")
	c := sinkCase{layout: pull.LayoutUnpacked, place: sinkTree, p: sinkPackage(t, data), zip: data}
	for name, again := range map[string]bool{"by the record": false, "by the zip": true} {
		dir := t.TempDir()
		checkPut(t, sinkAt(t, c, dir), c, dir, false)
		if again {
			if err := os.Remove(filepath.Join(dir, ".tofu-oci.unpacked")); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.Chmod(filepath.Join(dir, sinkTree, "terraform-provider-x"), 0o644); err != nil {
			t.Fatal(err)
		}
		_, _, err := sinkAt(t, c, dir).Put(t.Context(), c.p, opening(bytes.NewReader(data)))
		if !errors.Is(err, pull.ErrExists) || !strings.Contains(err.Error(), "is not executable") {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

// TestUnpackedSinkVerifiesH1 checks that a directory is not kept if its contents differ
// from the zip, even if the unsigned h1: hash of the package matches the directory.
func TestUnpackedSinkVerifiesH1(t *testing.T) {
	t.Parallel()
	old, data := sinkZip(t, "one", "terraform-provider-x"), sinkZip(t, "two", "terraform-provider-x")
	c := sinkCase{layout: pull.LayoutUnpacked, place: sinkTree, p: sinkPackage(t, old), zip: old}
	dir := t.TempDir()
	checkPut(t, sinkAt(t, c, dir), c, dir, false)
	lie := sinkPackage(t, data)
	lie.H1 = c.p.H1
	if _, ok, _ := sinkAt(t, c, dir).Has(t.Context(), lie); ok {
		t.Error("Has trusts the h1 in the metadata")
	}
	_, _, err := sinkAt(t, c, dir).Put(t.Context(), lie, opening(bytes.NewReader(data)))
	if _, ok := errors.AsType[*sums.MismatchError](err); !ok {
		t.Errorf("got %v", err)
	}
}

// TestSinkRefusesPipes checks that sinks don't block on named pipes.
func TestSinkRefusesPipes(t *testing.T) {
	t.Parallel()
	eachSink(t, func(t *testing.T, c sinkCase, dir string) {
		path := filepath.Join(dir, filepath.FromSlash(c.place))
		pipe := path
		if c.layout == pull.LayoutUnpacked {
			pipe = filepath.Join(path, "terraform-provider-x_v1.2.0")
		}
		if err := os.MkdirAll(filepath.Dir(pipe), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := syscall.Mkfifo(pipe, 0o644); err != nil {
			t.Fatal(err)
		}
		_, _, err := sinkAt(t, c, dir).Has(t.Context(), c.p)
		if !errors.Is(err, pull.ErrExists) || !strings.Contains(err.Error(), path+" ") {
			t.Errorf("error %v, want ErrExists", err)
		}
	})
}

// TestNetworkSinkModes checks that a web server that runs as another user can read all
// files.
func TestNetworkSinkModes(t *testing.T) {
	t.Parallel()
	probe := filepath.Join(t.TempDir(), "probe")
	if err := os.Mkdir(probe, 0o777); err != nil {
		t.Fatal(err)
	}
	made, err := os.Stat(probe)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"network", "network, cached"} {
		c, dir := sinkCases(t)[name], filepath.Join(t.TempDir(), "dir")
		checkPut(t, sinkAt(t, c, dir), c, dir, false)
		err := filepath.WalkDir(dir, func(path string, entry os.DirEntry, err error) error {
			if err != nil {
				return err
			}
			want := os.FileMode(0o644)
			if entry.IsDir() {
				want = 0o755
			}
			info, err := entry.Info()
			if err == nil && info.Mode().Perm() != want&made.Mode().Perm() {
				t.Errorf("%s has mode %v", path, info.Mode())
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

// TestNetworkSinkReplacesNoLink checks that documents that are symbolic links are
// neither read nor replaced.
func TestNetworkSinkReplacesNoLink(t *testing.T) {
	t.Parallel()
	c, dir := sinkCases(t)["network"], t.TempDir()
	writeIn(t, dir, "other", `{"versions":{}}`)
	link := filepath.Join(dir, sinkParent, "index.json")
	if err := os.Symlink("other", link); err != nil {
		t.Fatal(err)
	}
	_, _, err := sinkAt(t, c, dir).Put(t.Context(), c.p, opening(bytes.NewReader(c.zip)))
	if !errors.Is(err, pull.ErrExists) || !strings.Contains(err.Error(), link+" ") {
		t.Errorf("got %v", err)
	}
	if to, err := os.Readlink(link); err != nil || to != "other" {
		t.Errorf("the link points to %s, %v", to, err)
	}
}
