package lock_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tofu-oci/tofu-oci/internal/lock"
	"github.com/tofu-oci/tofu-oci/internal/stricthcl"
	"github.com/tofu-oci/tofu-oci/internal/testing/nouns"
	"github.com/tofu-oci/tofu-oci/pkg/lockfile"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// want parses a requirement.
func want(t *testing.T, text string) provider.Requirement {
	t.Helper()
	r, err := provider.ParseRequirement(text)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// lockFile writes a lock file to a new directory.
func lockFile(t *testing.T, f *lockfile.File, before string) (path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), lock.Filename)
	if err := os.WriteFile(path, append([]byte(before), f.Bytes()...), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func read(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// TestDirectoryPreRelease checks that a locked pre-release is kept without a constraint
// only if a module that isn't installed might require it, because tofu init refuses it.
func TestDirectoryPreRelease(t *testing.T) {
	t.Parallel()
	const requires = "terraform {\n required_providers {\n thing = { source = \"" + thing + "\" }\n }\n}\n"
	for config, isKept := range map[string]bool{
		requires: false,
		requires + "module \"m\" {\n source = \"acme/m/aws\"\n}\n": true,
	} {
		s := newFakeSource(t, thing, "1.0.0", "2.0.0-rc1")
		path := lockFile(t, file(t, []string{thing, "2.0.0-rc1"}), "")
		if err := os.WriteFile(filepath.Join(filepath.Dir(path), "main.tf"), []byte(config), 0o600); err != nil {
			t.Fatal(err)
		}
		c, err := lock.Directory(t.Context(), s, filepath.Dir(path), lock.FileOptions{})
		if err != nil || len(c.Providers) != 1 {
			t.Fatalf("%d providers, %v", len(c.Providers), err)
		}
		if got := c.Providers[0].Err; isKept != (got == nil) || !isKept && !errors.Is(got, lock.ErrLocked) {
			t.Errorf("kept %v: %v", isKept, got)
		}
	}
}

// TestDirectorySelects checks which version is locked, and the error if no version can
// be locked.
func TestDirectorySelects(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		was, wanted, narrower string
		upgrade               bool
		now                   string
		fits                  func(error) bool
	}{
		"no lock file":                           {"", "", "", false, "1.2.0", nil},
		"a constraint":                           {"", "~> 1.1.0", "", false, "1.1.0", nil},
		"a pre-release by name":                  {"", "2.0.0-rc1", "", false, "2.0.0-rc1", nil},
		"no matching version":                    {"", ">= 2.0.0", "", false, "", isNotFound},
		"keeps the version":                      {"1.0.0", "~> 1.0", "", false, "1.0.0", nil},
		"keeps the version without a constraint": {"1.1.0", "", "", false, "1.1.0", nil},
		"keeps a pre-release":                    {"2.0.0-rc1", "", "", false, "2.0.0-rc1", nil},
		"a pre-release meets no constraint":      {"2.0.0-rc1", ">= 1.0.0", "", false, "", is(lock.ErrLocked)},
		"version that is not allowed":            {"1.0.0", "~> 1.1", "", false, "", is(lock.ErrLocked)},
		"upgraded":                               {"1.0.0", "~> 1.0", "", true, "1.2.0", nil},
		"upgrades a version that is not allowed": {"1.0.0", "~> 1.1.0", "", true, "1.1.0", nil},
		"upgrades to an older version":           {"1.2.0", "< 1.2.0", "", true, "1.1.0", nil},
		"missing version":                        {"9.0.0", "", "", false, "", isNotFound},
		"narrower":                               {"", "~> 1.0", "< 1.2.0", false, "1.1.0", nil},
		"excludes the locked version":            {"1.2.0", "~> 1.0", "< 1.2.0", false, "", is(lock.ErrLocked)},
		"constraint without versions":            {"", "~> 1.0", ">= 2.0.0", false, "", isNotFound},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newFakeSource(t, thing, "1.0.0", "1.2.0", "1.1.0", "2.0.0-rc1")
			f := file(t)
			if test.was != "" {
				f = file(t, []string{thing, test.was})
			}
			path := lockFile(t, f, "")
			w := want(t, strings.TrimSuffix(thing+"@"+test.wanted, "@"))
			o := lock.FileOptions{Upgrade: test.upgrade, Named: []provider.Requirement{w}}
			if test.narrower != "" {
				main := "terraform {\n required_providers {\n thing = { source = \"" + thing + "\", version = \"" + test.wanted + "\" }\n }\n}\n"
				if err := os.WriteFile(filepath.Join(filepath.Dir(path), "main.tf"), []byte(main), 0o600); err != nil {
					t.Fatal(err)
				}
				o.Named[0] = want(t, thing+"@"+test.narrower)
			}
			c, err := lock.Directory(t.Context(), s, filepath.Dir(path), o)
			if err != nil || len(c.Providers) != 1 {
				t.Fatalf("%d providers, %v", len(c.Providers), err)
			}
			if got := c.Providers[0].Err; test.fits != nil || got != nil {
				if test.fits == nil || !test.fits(got) {
					t.Errorf("got %v", got)
				}
				if diff := cmp.Diff(string(f.Bytes()), read(t, path)); diff != "" {
					t.Error(diff)
				}
				return
			}
			now, err := lockfile.Read(path)
			if err != nil {
				t.Fatal(err)
			}
			got, _ := now.Selection(w.Address)
			if got.Version.String() != test.now || got.Constraints.String() != w.Constraint.String() || len(got.Hashes) != 5 {
				t.Errorf("locked %s, %q, with %d hashes", got.Version, got.Constraints, len(got.Hashes))
			}
		})
	}
}

func isNotFound(err error) bool { return errors.Is(err, provider.ErrVersionNotFound) }

// TestDirectoryKeepsHashes checks that locked hashes are kept if the version stays the
// same, unless they belong to different packages. If the version changes, its previous
// hashes are removed.
func TestDirectoryKeepsHashes(t *testing.T) {
	t.Parallel()
	s := newFakeSource(t, thing, "1.0.0", "1.1.0")
	old := s.first()
	for name, test := range map[string]struct {
		locked    []string
		platforms []provider.Platform
		upgrade   bool
		kept, bad bool
	}{
		"one known hash": {[]string{old.Packages[0].H1, "h2:tomorrow"}, nil, false, true, false},
		"the h1 of a platform that is not selected": {[]string{old.Packages[0].H1}, []provider.Platform{old.Packages[1].Platform}, false, true, false},
		"all hashes of other content":               {[]string{string(wrongZH), string(wrongH1)}, nil, false, false, true},
		"hash of other content for one platform":    {[]string{string(wrongH1)}, []provider.Platform{nouns.Plan9}, false, false, true},
		"of another version":                        {[]string{string(wrongZH)}, nil, true, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := lockFile(t, file(t, append([]string{thing, "1.0.0"}, test.locked...)), "")
			o := lock.FileOptions{Upgrade: test.upgrade, Named: []provider.Requirement{want(t, thing)}}
			o.Platforms = test.platforms
			c, err := lock.Directory(t.Context(), s, filepath.Dir(path), o)
			if err != nil {
				t.Fatal(err)
			}
			if wrong, is := errors.AsType[*lock.HashError](c.Providers[0].Err); is != test.bad || is && len(wrong.Got) != 5 {
				t.Fatalf("got %v", c.Providers[0].Err)
			}
			for _, h := range test.locked {
				if strings.Contains(read(t, path), h) != (test.kept || test.bad) {
					t.Errorf("%s: kept is not %v", h, test.kept)
				}
			}
		})
	}
}

// TestDirectoryWrites checks that other text in the file is kept. Nothing is written
// if nothing changes, if a provider fails, or in a dry run.
func TestDirectoryWrites(t *testing.T) {
	t.Parallel()
	s := newFakeSource(t, thing, "1.0.0")
	s.add(t, other, "2.0.0")
	before := "# Reviewed by us.\n"
	path := lockFile(t, file(t, []string{"registry.example.org/foreign/kept", "3.0.0", "zh:f"}), before)
	began := read(t, path)
	all := []provider.Requirement{want(t, thing+"@~> 1.0"), want(t, other)}

	c, err := lock.Directory(t.Context(), s, filepath.Dir(path), lock.FileOptions{Named: append(all, want(t, "acme/none"))})
	if err != nil || c.Providers[0].Err != nil || !errors.Is(c.Providers[2].Err, provider.ErrProviderNotFound) {
		t.Fatalf("%+v, %v", c.Providers, err)
	}
	if diff := cmp.Diff(began, read(t, path)); diff != "" {
		t.Errorf("one failed: %s", diff)
	}
	c, err = lock.Directory(t.Context(), s, filepath.Dir(path), lock.FileOptions{Named: all, DryRun: true})
	if err != nil || string(c.Old) != began || !strings.Contains(string(c.New), "provider \""+thing+"\"") || read(t, path) != began {
		t.Errorf("a dry run: %v, now %s", err, read(t, path))
	}
	planned := string(c.New)

	if _, err = lock.Directory(t.Context(), s, filepath.Dir(path), lock.FileOptions{Named: all}); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(planned, read(t, path)); diff != "" {
		t.Errorf("differs from the dry run: %s", diff)
	}
	if text := read(t, path); !strings.HasPrefix(text, before) || !strings.Contains(text, "foreign/kept") {
		t.Errorf("text is lost:\n%s", text)
	}
	was, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	c, err = lock.Directory(t.Context(), s, filepath.Dir(path), lock.FileOptions{Named: all, Upgrade: true})
	if err != nil || string(c.Old) != string(c.New) || c.Providers[0].Previous == nil {
		t.Errorf("again: %+v, %v", c, err)
	}
	if now, err := os.Stat(path); err != nil || !os.SameFile(was, now) {
		t.Errorf("the file was written again, %v", err)
	}
}

// TestDirectoryConcurrentChange checks that changes by another process are kept.
func TestDirectoryConcurrentChange(t *testing.T) {
	t.Parallel()
	s := newFakeSource(t, thing, "1.0.0")
	path := lockFile(t, file(t), "")
	n := 0
	s.onRelease = func() {
		if n++; n == 1 {
			if err := os.WriteFile(path, file(t, []string{other, "2.0.0"}).Bytes(), 0o600); err != nil {
				t.Error(err)
			}
		}
	}
	if _, err := lock.Directory(t.Context(), s, filepath.Dir(path), lock.FileOptions{Named: []provider.Requirement{want(t, thing)}}); err != nil {
		t.Fatal(err)
	}
	if text := read(t, path); !strings.Contains(text, other) || !strings.Contains(text, thing) {
		t.Errorf("got\n%s", text)
	}
	// If a file keeps changing, it is not written.
	s.onRelease = func() {
		n++
		if err := os.WriteFile(path, []byte(strings.Repeat("# again\n", n)), 0o600); err != nil {
			t.Error(err)
		}
	}
	_, err := lock.Directory(t.Context(), s, filepath.Dir(path), lock.FileOptions{Named: []provider.Requirement{want(t, thing)}})
	if !errors.Is(err, lockfile.ErrChanged) || !strings.Contains(err.Error(), path) {
		t.Errorf("got %v", err)
	}
	if diff := cmp.Diff(strings.Repeat("# again\n", n), read(t, path)); diff != "" {
		t.Error(diff)
	}
}

// TestDirectoryCanceled checks that nothing is written after cancellation.
func TestDirectoryCanceled(t *testing.T) {
	t.Parallel()
	s := newFakeSource(t, thing, "1.0.0")
	ctx, cancel := context.WithCancel(t.Context())
	s.onRelease = cancel
	path := filepath.Join(t.TempDir(), lock.Filename)
	if _, err := lock.Directory(ctx, s, filepath.Dir(path), lock.FileOptions{Named: []provider.Requirement{want(t, thing)}}); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	if _, err := os.Lstat(path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the file was written, %v", err)
	}
	bad := lockFile(t, file(t), "provider {\n")
	_, err := lock.Directory(t.Context(), s, filepath.Dir(bad), lock.FileOptions{Named: []provider.Requirement{want(t, thing)}})
	if wrong, is := errors.AsType[*stricthcl.Error](err); !is || wrong.Line == 0 {
		t.Errorf("got %v", err)
	}
}
