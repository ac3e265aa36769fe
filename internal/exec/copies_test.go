package exec_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tofu-oci/tofu-oci/internal/exec"
	"github.com/tofu-oci/tofu-oci/pkg/store"
)

// onePath is the path of provider one in a data directory.
var onePath = filepath.Join("providers", "registry.opentofu.org", "acme", "one", "1.0.0", "haiku_riscv64")

// with returns a function that sets environment variables and arguments.
func with(env map[string]string, args ...string) func(*exec.Options) {
	return func(o *exec.Options) {
		getenv := o.Environment.Getenv
		o.Environment.Getenv = func(name string) string {
			if value, set := env[name]; set {
				return value
			}
			return getenv(name)
		}
		o.Command = append(o.Command, args...)
	}
}

// contents maps the paths of all files and links below a directory to their contents.
func contents(t *testing.T, dir string) map[string]string {
	t.Helper()
	found := map[string]string{}
	must(t, filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		name, err := filepath.Rel(dir, path)
		must(t, err)
		if entry.Type()&fs.ModeSymlink != 0 {
			found[name] = "a link"
			return nil
		}
		text, err := os.ReadFile(path)
		found[name] = string(text)
		return err
	}))
	return found
}

// TestCopies checks which commands find unpacked packages in their data directory.
func TestCopies(t *testing.T) {
	t.Parallel()
	outside := t.TempDir()
	all := func(h hashes) []string { return []string{h.zh, h.unpacked} }
	for name, test := range map[string]struct {
		program string
		locked  func(hashes) []string
		env     map[string]string
		args    []string
		// data is the data directory with the package, or empty.
		data string
	}{
		"tofu":               {"tofu", all, nil, []string{"init"}, ".terraform"},
		"terraform":          {"terraform1.5.7", all, nil, []string{"-no-color", "init", "-upgrade"}, ".terraform"},
		"data directory":     {"tofu", all, map[string]string{"TF_DATA_DIR": "a/b"}, []string{"init"}, "a/b"},
		"absolute directory": {"tofu", all, map[string]string{"TF_DATA_DIR": filepath.Join(outside, "data")}, []string{"init"}, filepath.Join(outside, "data")},
		"another command":    {"tofu", all, nil, []string{"plan"}, ""},
		"another program":    {"make", all, nil, []string{"init"}, ""},
		"zh":                 {"tofu", func(h hashes) []string { return []string{h.zh} }, nil, []string{"init"}, ""},
		"h1 of the zip":      {"tofu", func(h hashes) []string { return []string{h.zh, h.h1} }, nil, []string{"init"}, ""},
		"plugin cache":       {"tofu", all, map[string]string{"TF_PLUGIN_CACHE_DIR": outside}, []string{"init"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.lock(t, here, map[string][]string{"one 1.0.0": test.locked(w.hashes["one 1.0.0"])})
			_, mirror := w.run(t, test.program, "show", with(test.env, test.args...)).configured(t)
			if len(holds(t, mirror)) != 1 {
				t.Error("the mirror has no zip")
			}
			want := map[string]string{here: contents(t, w.dir)[here]}
			at := test.data
			if filepath.IsLocal(at) {
				at = filepath.Join(w.dir, at)
			}
			if test.data != "" {
				file := filepath.Join(at, onePath, "terraform-provider-one")
				if info, err := os.Lstat(file); err != nil || runtime.GOOS != "windows" && info.Mode()&0o300 != 0o300 {
					t.Errorf("%v, %v", info, err)
				}
				// A client can overwrite the file without changing the store.
				must(t, os.WriteFile(file, []byte("changed"), 0o600))
				if filepath.IsLocal(test.data) {
					want[filepath.Join(filepath.FromSlash(test.data), onePath, "terraform-provider-one")] = "changed"
				}
			}
			if diff := cmp.Diff(want, contents(t, w.dir)); diff != "" {
				t.Error(diff)
			}
			if test.data == "" {
				return
			}
			must(t, os.RemoveAll(at))
			again := w.run(t, test.program, "show", with(test.env, test.args...))
			again.configured(t)
			if diff := cmp.Diff(map[string]string{filepath.Join(onePath, "terraform-provider-one"): "one 1.0.0"}, contents(t, at)); diff != "" || again.requests != 0 || w.damaged.Load() != 0 {
				t.Errorf("%d requests, %d damaged %s", again.requests, w.damaged.Load(), diff)
			}
		})
	}
}

// TestCopiesOtherLockFiles checks that the data directory contains only packages
// from the lock file that the client reads.
func TestCopiesOtherLockFiles(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	one := w.hashes["one 1.0.0"]
	other := w.lock(t, "a/"+here, map[string][]string{"one 1.0.0": {one.zh, one.unpacked}})
	w.run(t, "tofu", "show", with(nil, "init"), func(o *exec.Options) { o.LockFiles = []string{other} }).configured(t)
	if _, err := os.Lstat(filepath.Join(w.dir, ".terraform")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the data directory exists: %v", err)
	}
}

// TestCopiesKeepsExisting checks that existing files in a data directory are kept,
// and that links in a hostile Git repository aren't followed to other directories.
func TestCopiesKeepsExisting(t *testing.T) {
	t.Parallel()
	provider := filepath.Dir(filepath.Dir(onePath))
	for name, test := range map[string]struct{ path, target string }{
		"package":               {filepath.Join(".terraform", onePath, "x"), ""},
		"file":                  {".terraform", ""},
		"linked data directory": {".terraform", "outside"},
		"linked providers":      {filepath.Join(".terraform", "providers"), "outside"},
		"linked provider":       {filepath.Join(".terraform", provider), "outside"},
		"linked package":        {filepath.Join(".terraform", onePath), "outside"},
		"dangling link":         {filepath.Join(".terraform", provider), "outside/nothing"},
		"dangling package":      {filepath.Join(".terraform", onePath), "outside/nothing"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.dir = filepath.Join(w.dir, "checkout")
			outside := filepath.Join(filepath.Dir(w.dir), "outside")
			one := w.hashes["one 1.0.0"]
			w.lock(t, here, map[string][]string{"one 1.0.0": {one.zh, one.unpacked}})
			at := filepath.Join(w.dir, test.path)
			must(t, errors.Join(os.Mkdir(outside, 0o755), os.MkdirAll(filepath.Dir(at), 0o755)))
			if test.target == "" {
				must(t, os.WriteFile(at, []byte("existing"), 0o600))
			} else {
				relative, err := filepath.Rel(filepath.Dir(at), filepath.Join(filepath.Dir(w.dir), test.target))
				must(t, errors.Join(err, os.Symlink(relative, at)))
			}
			before := contents(t, filepath.Dir(w.dir))
			w.run(t, "terraform", "show", with(nil, "init")).configured(t)
			if diff := cmp.Diff(before, contents(t, filepath.Dir(w.dir))); diff != "" {
				t.Error(diff)
			}
			left, err := filepath.Glob(filepath.Join(w.dir, ".terraform", ".*"))
			if err != nil || len(left) > 0 {
				t.Errorf("%v is left, %v", left, err)
			}
		})
	}
}

// TestCopiesInterrupted cancels a run while a package is being copied. Neither the
// package nor temporary files may remain. The next run completes.
func TestCopiesInterrupted(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	one := w.hashes["one 1.0.0"]
	w.lock(t, here, map[string][]string{"one 1.0.0": {one.zh, one.unpacked}})
	data := filepath.Join(w.dir, ".terraform")
	w.run(t, "tofu", "show", with(nil, "init")).configured(t)
	must(t, os.RemoveAll(data))
	stored, err := filepath.Glob(filepath.Join(w.cache, "unpacked", "sha256", "*", "files", "terraform-provider-one"))
	if err != nil || len(stored) != 1 {
		t.Fatalf("the store has %v, %v", stored, err)
	}
	must(t, errors.Join(os.Chmod(stored[0], 0o700), os.WriteFile(stored[0], []byte("damaged"), 0o700)))

	ctx, cancel := context.WithCancel(t.Context())
	during := -1
	s, err := store.Open(w.cache, store.Options{OnDamaged: func(string, error) {
		temporary, _ := filepath.Glob(filepath.Join(data, ".*"))
		during = len(temporary)
		cancel()
	}})
	must(t, err)
	o := w.options(t, "tofu", "show")
	with(nil, "init")(&o)
	o.Store = s
	if _, err := exec.Run(ctx, o); !errors.Is(err, context.Canceled) || during != 1 {
		t.Errorf("error %v, %d temporary directories", err, during)
	}
	if left, err := os.ReadDir(data); err != nil || len(left) > 0 {
		t.Errorf("%v is left, %v", left, err)
	}
	w.run(t, "tofu", "show", with(nil, "init")).configured(t)
	if diff := cmp.Diff(map[string]string{filepath.Join(onePath, "terraform-provider-one"): "one 1.0.0"}, contents(t, data)); diff != "" {
		t.Error(diff)
	}
}
