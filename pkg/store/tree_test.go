package store_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/opencontainers/go-digest"

	"github.com/tofu-oci/tofu-oci/internal/atomicfile"
	"github.com/tofu-oci/tofu-oci/pkg/store"
)

func TestPutAndTakeTree(t *testing.T) {
	t.Parallel()
	for name, recheck := range map[string]bool{"trusted": false, "rechecked": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			s, events := open(t, dir, recheck)
			d := putTree(t, s, aPackage)
			if again := putTree(t, s, aPackage); again != d {
				t.Fatal("the digests differ")
			}
			other, _ := open(t, dir, recheck)
			got, ok := takeTree(t, other, d)
			if diff := cmp.Diff(aPackage, contents(t, got)); !ok || diff != "" {
				t.Errorf("%v %s", ok, diff)
			}
			for name := range contents(t, got) {
				info, err := os.Stat(filepath.Join(got, filepath.FromSlash(name)))
				must(t, err)
				executable := strings.HasPrefix(name, "terraform-provider-")
				if runtime.GOOS != "windows" && info.Mode().IsRegular() && (info.Mode()&0o100 != 0) != executable {
					t.Errorf("%s has mode %s", name, info.Mode())
				}
			}
			tree, ok := s.Tree(t.Context(), d)
			if !ok {
				t.Fatal("it is gone")
			}
			if h := tree.Hashes(); h.H1 != "h1:of the zip" || !strings.HasPrefix(h.Unpacked, "h1:") {
				t.Errorf("the hashes are %v", h)
			}
			must(t, tree.Close())
			must(t, tree.Close())
			events.check(t, 0, 0)
			noLitter(t, dir)
		})
	}
}

// TestDamagedTrees checks that damage is detected on use and reported once. Storing the
// package again repairs the damage.
func TestDamagedTrees(t *testing.T) {
	t.Parallel()
	for name, damage := range map[string]func(t *testing.T, dir string){
		"a changed file": func(t *testing.T, dir string) { patch(t, filepath.Join(dir, "files", "terraform-provider-x")) },
		"a missing file": func(t *testing.T, dir string) { must(t, os.Remove(filepath.Join(dir, "files", "docs", "index.md"))) },
		"an added file": func(t *testing.T, dir string) {
			fill(t, filepath.Join(dir, "files"), map[string]string{"docs/new": "x"})
		},
		"an emptied file": func(t *testing.T, dir string) {
			must(t, os.Truncate(filepath.Join(dir, "files", "docs", "index.md"), 0))
		},
		"a renamed file": func(t *testing.T, dir string) {
			must(t, os.Rename(filepath.Join(dir, "files", "docs", "index.md"), filepath.Join(dir, "files", "index.md")))
		},
		"an added link": func(t *testing.T, dir string) {
			must(t, os.Symlink("index.md", filepath.Join(dir, "files", "docs", "link")))
		},
		"no files":        func(t *testing.T, dir string) { must(t, os.RemoveAll(filepath.Join(dir, "files"))) },
		"no record":       func(t *testing.T, dir string) { must(t, os.Remove(filepath.Join(dir, "record"))) },
		"a broken record": func(t *testing.T, dir string) { must(t, os.Truncate(filepath.Join(dir, "record"), 9)) },
		"a nameless file": func(t *testing.T, dir string) {
			must(t, os.WriteFile(filepath.Join(dir, "record"), []byte(`{"files": [{}]}`), 0o644))
		},
		"a file in place":  func(t *testing.T, dir string) { must(t, os.RemoveAll(dir)); must(t, os.WriteFile(dir, nil, 0o644)) },
		"an empty package": func(t *testing.T, dir string) { must(t, os.RemoveAll(dir)); must(t, os.Mkdir(dir, 0o755)) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			s, events := open(t, dir, false)
			d := putTree(t, s, aPackage)
			damage(t, treePath(dir, d))
			if got, ok := takeTree(t, s, d); ok {
				t.Errorf("got %q", contents(t, got))
			}
			events.check(t, 1, 0)
			if _, ok := takeTree(t, s, d); ok {
				t.Error("it is back")
			}
			events.check(t, 1, 0)
			noLitter(t, dir)
			putTree(t, s, aPackage)
			got, ok := takeTree(t, s, d)
			if diff := cmp.Diff(aPackage, contents(t, got)); !ok || diff != "" {
				t.Errorf("%v %s", ok, diff)
			}
			events.check(t, 1, 0)
		})
	}
}

func TestLostPermissionIsDamage(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		return // Windows has no executable permission
	}
	dir := t.TempDir()
	s, events := open(t, dir, false)
	d := putTree(t, s, aPackage)
	must(t, os.Chmod(treePath(dir, d, "files", "terraform-provider-x"), 0o644))
	if _, ok := takeTree(t, s, d); ok {
		t.Error("the program is not executable")
	}
	events.check(t, 1, 0)
}

// TestTreesWithChangedMetadata checks that files with changed metadata are rehashed
// once and then trusted.
func TestTreesWithChangedMetadata(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s, events := open(t, dir, false)
	d := putTree(t, s, aPackage)
	at := time.Now().Add(-time.Hour)
	must(t, os.Chtimes(treePath(dir, d, "files", "docs", "index.md"), at, at))
	before, err := os.ReadFile(treePath(dir, d, "record"))
	must(t, err)
	if _, ok := takeTree(t, s, d); !ok {
		t.Error("it is gone")
	}
	if after, err := os.ReadFile(treePath(dir, d, "record")); err != nil || bytes.Equal(before, after) {
		t.Errorf("the record is not renewed: %v", err)
	}
	events.check(t, 0, 0)
}

// TestRecheckDetectsCorruptTrees checks that Recheck detects corruption that doesn't
// change the recorded metadata.
func TestRecheckDetectsCorruptTrees(t *testing.T) {
	t.Parallel()
	for recheck, found := range map[bool]bool{false: false, true: true} {
		dir := t.TempDir()
		s, events := open(t, dir, recheck)
		d := putTree(t, s, aPackage)
		path := treePath(dir, d, "files", "docs", "index.md")
		stamp := func() string {
			info, err := os.Lstat(path)
			must(t, err)
			return atomicfile.StampOf(info).String()
		}
		was := stamp()
		patch(t, path)
		record, err := os.ReadFile(treePath(dir, d, "record"))
		must(t, err)
		must(t, os.WriteFile(treePath(dir, d, "record"), bytes.Replace(record, []byte(was), []byte(stamp()), 1), 0o644))
		if _, ok := takeTree(t, s, d); ok == found {
			t.Errorf("recheck %v: it is given: %v", recheck, ok)
		}
		events.check(t, map[bool]int{false: 0, true: 1}[found], 0)
	}
}

// TestRecordStaysInPackage checks that a file name in a record can't refer to a file
// outside the package.
func TestRecordStaysInPackage(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s, events := open(t, dir, false)
	d := putTree(t, s, aPackage)
	var record map[string]any
	text, err := os.ReadFile(treePath(dir, d, "record"))
	must(t, err)
	must(t, json.Unmarshal(text, &record))
	for _, f := range record["files"].([]any) {
		if f := f.(map[string]any); f["name"] == "docs/index.md" {
			f["name"] = "../record"
		}
	}
	text, err = json.Marshal(record)
	must(t, err)
	must(t, os.WriteFile(treePath(dir, d, "record"), text, 0o644))
	if got, ok := takeTree(t, s, d); ok {
		t.Errorf("got %q", contents(t, got))
	}
	events.check(t, 1, 0)
}

// TestTreeChangesWhileCopied changes a file between the check and the copy.
func TestTreeChangesWhileCopied(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(t *testing.T, path string){
		"changed": patch,
		"removed": func(t *testing.T, path string) { must(t, os.Remove(path)) },
	} {
		dir := t.TempDir()
		s, events := open(t, dir, false)
		d := putTree(t, s, aPackage)
		tree, ok := s.Tree(t.Context(), d)
		if !ok {
			t.Fatal("it is not there")
		}
		change(t, treePath(dir, d, "files", "docs", "index.md"))
		if err := tree.CopyTo(t.Context(), t.TempDir(), true); err == nil {
			t.Errorf("%s: no error", name)
		}
		must(t, tree.Close())
		events.check(t, 1, 0)
		if _, ok := s.Tree(t.Context(), d); ok {
			t.Errorf("%s: it is still there", name)
		}
	}
}

func TestCopyIsCanceled(t *testing.T) {
	t.Parallel()
	s, events := open(t, t.TempDir(), false)
	d := putTree(t, s, aPackage)
	tree, ok := s.Tree(t.Context(), d)
	if !ok {
		t.Fatal("it is not there")
	}
	defer tree.Close()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	// If the file system shares blocks, the copy can finish before the cancellation
	// takes effect.
	if err := tree.CopyTo(ctx, t.TempDir(), true); err != nil && !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	s.PutTree(ctx, digest.FromString("another"), store.Hashes{}, t.TempDir())
	events.check(t, 0, 0)
}

// TestPutTreeFails checks that a failure is reported and leaves no files.
func TestPutTreeFails(t *testing.T) {
	t.Parallel()
	dir, from := t.TempDir(), t.TempDir()
	s, events := open(t, dir, false)
	fill(t, from, aPackage)
	must(t, os.Symlink("docs", filepath.Join(from, "link")))
	s.PutTree(t.Context(), digest.FromString("x"), store.Hashes{}, from)
	events.check(t, 0, 1)
	if _, ok := s.Tree(t.Context(), digest.FromString("x")); ok {
		t.Error("it was kept")
	}
	noLitter(t, dir)
}

// TestOutputIsIndependent checks that changes to an output do not affect the store, and
// that changes to the store do not affect an output, even if they share blocks.
func TestOutputIsIndependent(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s, events := open(t, dir, false)
	d := putTree(t, s, aPackage)
	first, _ := takeTree(t, s, d)
	for _, name := range []string{"terraform-provider-x", "docs/index.md"} {
		patch(t, filepath.Join(first, filepath.FromSlash(name)))
	}
	must(t, os.Remove(filepath.Join(first, "docs", "index.md")))
	second, ok := takeTree(t, s, d)
	if diff := cmp.Diff(aPackage, contents(t, second)); !ok || diff != "" {
		t.Errorf("%v %s", ok, diff)
	}
	events.check(t, 0, 0)
	patch(t, treePath(dir, d, "files", "terraform-provider-x"))
	if diff := cmp.Diff(aPackage, contents(t, second)); diff != "" {
		t.Error(diff)
	}
}
