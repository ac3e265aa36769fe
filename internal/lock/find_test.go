package lock_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tofu-oci/tofu-oci/internal/lock"
)

// TestFind covers names that are files, directories, or patterns.
func TestFind(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, name := range []string{
		".terraform.lock.hcl", "live/a/.terraform.lock.hcl", "live/b/c/.terraform.lock.hcl", "live/a/main.tf", "live/old.lock.hcl",
		"live/a/.terraform/modules/m/.terraform.lock.hcl", ".git/.terraform.lock.hcl",
		"live/a/.terragrunt-cache/x/y/.terraform.lock.hcl", "live/b/.cache/.terraform.lock.hcl", ".hidden/live/.terraform.lock.hcl", "odd/[x]/.terraform.lock.hcl", "empty/x",
	} {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, nil, 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	if runtime.GOOS != "windows" {
		if err := errors.Join(os.Symlink("live", filepath.Join(dir, "linked")), os.Symlink(filepath.Join("..", "live", "old.lock.hcl"), filepath.Join(dir, "odd", ".terraform.lock.hcl"))); err != nil {
			t.Fatal(err)
		}
	}
	a, bc, odd := "live/a/.terraform.lock.hcl", "live/b/c/.terraform.lock.hcl", "odd/[x]/.terraform.lock.hcl"
	for name, test := range map[string]struct{ names, want []string }{
		"a file":                     {[]string{"live/old.lock.hcl"}, []string{"live/old.lock.hcl"}},
		"a file with odd characters": {[]string{odd}, []string{odd}},
		"a tree":                     {[]string{"live"}, []string{a, bc}},
		"duplicates":                 {[]string{"live", a, "live/./a", "live/*/.terraform.lock.hcl"}, []string{a, bc}},
		"a pattern":                  {[]string{"live/**/.terraform.lock.hcl"}, []string{a, bc}},
		"a pattern of one level":     {[]string{"live/*/.terraform.lock.hcl"}, []string{a}},
		"a pattern of names":         {[]string{"live/{b,x}/*/.terraform.lock.[gh]cl"}, []string{bc}},
		"lock files of modules":      {[]string{"live/a/.terraform"}, []string{"live/a/.terraform/modules/m/.terraform.lock.hcl"}},
		"no such file":               {[]string{"live", "live/none.hcl"}, nil},
		"a tree without lock files":  {[]string{"empty"}, nil},
		"a pattern without matches":  {[]string{"none/**/.terraform.lock.hcl"}, nil},
		"skipped directories":        {[]string{"**/modules/**/.terraform.lock.hcl"}, nil},
		"a hidden directory":         {[]string{".hidden"}, []string{".hidden/live/.terraform.lock.hcl"}},
		"a pattern of hidden ones":   {[]string{"live/**/.terra*/**/.terraform.lock.hcl"}, []string{"live/a/.terraform/modules/m/.terraform.lock.hcl", "live/a/.terragrunt-cache/x/y/.terraform.lock.hcl"}},
		"below a hidden directory":   {[]string{".hidden/**/.terraform.lock.hcl"}, []string{".hidden/live/.terraform.lock.hcl"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := find(t.Context(), dir, test.names...)
			if diff := cmp.Diff(test.want, got); diff != "" || errors.Is(err, lock.ErrNoFile) != (test.want == nil) {
				t.Errorf("%v %s", err, diff)
			}
		})
	}
	t.Run("links", func(t *testing.T) {
		t.Parallel()
		if runtime.GOOS == "windows" {
			return // creating links requires a privilege
		}
		for want, names := range map[string][]string{
			strings.Join([]string{a, bc, "odd/.terraform.lock.hcl", odd}, " "): {"odd", "*/**/.terraform.lock.hcl"},
			"linked/a/.terraform.lock.hcl linked/b/c/.terraform.lock.hcl":      {"linked", "linked/**/.terraform.lock.hcl"},
		} {
			got, err := find(t.Context(), dir, names...)
			if diff := cmp.Diff(want, strings.Join(got, " ")); diff != "" || err != nil {
				t.Errorf("%v %s", err, diff)
			}
		}
	})
	t.Run("invalid pattern", func(t *testing.T) {
		t.Parallel()
		if _, err := find(t.Context(), dir, "live/[a"); err == nil || !strings.Contains(err.Error(), "invalid file pattern") {
			t.Errorf("got %v", err)
		}
	})
	t.Run("canceled", func(t *testing.T) {
		t.Parallel()
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := find(ctx, dir, "live"); !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
	})
}

// find returns the results of lock.Find, relative to dir.
func find(ctx context.Context, dir string, names ...string) ([]string, error) {
	for i, name := range names {
		names[i] = filepath.Join(dir, filepath.FromSlash(name))
	}
	found, err := lock.Find(ctx, names...)
	for i, path := range found {
		found[i] = filepath.ToSlash(strings.TrimPrefix(path, dir+string(filepath.Separator)))
	}
	return found, err
}
