package configuration

import (
	"context"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// maxRoots limits the number of directories that contain configuration files.
const maxRoots = 10_000

// Roots returns the root modules in directories and their subdirectories. A root module
// either has a lock file or is not called by any other module in these directories.
// Roots skips hidden directories and data directories, and does not follow links. The
// result is sorted and contains no duplicates. Roots ignores errors in configurations.
// [Load] reports these errors.
func Roots(ctx context.Context, o Options, dirs ...string) ([]string, error) {
	return await(ctx, func() ([]string, error) { return roots(ctx, o, dirs) })
}

func roots(ctx context.Context, o Options, dirs []string) ([]string, error) {
	found, called := map[string]bool{}, map[string]bool{}
	for _, top := range dirs {
		top += string(filepath.Separator) // follow a link if dir is a link
		err := filepath.WalkDir(top, func(dir string, entry fs.DirEntry, err error) error {
			switch {
			case ctx.Err() != nil:
				return ctx.Err()
			case err != nil:
				return err
			case !entry.IsDir():
				return nil
			case dir != top && (strings.HasPrefix(entry.Name(), ".") || entry.Name() == o.DataDir):
				return fs.SkipDir
			case len(found) > maxRoots:
				return fmt.Errorf("%s contains more than %d directories with configuration files", top, maxRoots)
			}
			return o.look(ctx, filepath.Clean(dir), found, called)
		})
		if err != nil {
			return nil, fmt.Errorf("looking for configurations: %w", err)
		}
	}
	for dir := range called {
		if _, err := os.Lstat(filepath.Join(dir, ".terraform.lock.hcl")); err != nil {
			delete(found, dir)
		}
	}
	return slices.Sorted(maps.Keys(found)), nil
}

// look records a directory that contains configuration files and the local modules that
// its configuration calls.
func (o Options) look(ctx context.Context, dir string, found, called map[string]bool) error {
	there, err := list(dir, o.Terraform)
	if err != nil || len(there.primary)+len(there.override) == 0 {
		return err
	}
	found[dir] = true
	r := reader{problems: &problems{}, options: o}
	m := r.module(ctx, dir, there)
	s := r.rootScope(ctx, dir, m)
	for _, c := range m.calls {
		if path, ok := local(r.resolve(c, s).source); ok {
			called[filepath.Join(dir, filepath.FromSlash(path))] = true
		}
	}
	return ctx.Err()
}
