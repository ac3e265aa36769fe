package lock

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"
)

// Filename is the name of lock files.
const Filename = ".terraform.lock.hcl"

// maxFiles is the maximum number of files that a name can match.
const maxFiles = 10_000

// Find returns the lock files that names refer to, sorted and without duplicates. A
// name is a file, a directory to search recursively, or a pattern such as
// "live/**/.terraform.lock.hcl". Find skips hidden directories, such as .terraform and
// .terragrunt-cache, and links to directories, unless a name refers to them directly. In
// patterns, wildcards don't match the dot of a hidden directory. If a name matches no
// file, the error wraps [ErrNoFile].
func Find(ctx context.Context, names ...string) ([]string, error) {
	var all []string
	for _, name := range names {
		found, err := find(ctx, name)
		if err != nil {
			return nil, err
		}
		if len(found) == 0 {
			return nil, fmt.Errorf("%s: %w", name, ErrNoFile)
		}
		all = append(all, found...)
	}
	slices.Sort(all)
	return slices.Compact(all), nil
}

func find(ctx context.Context, name string) ([]string, error) {
	info, err := os.Stat(name)
	switch {
	case err == nil && info.IsDir():
		return walk(ctx, name, "", func(path string) bool { return filepath.Base(path) == Filename })
	case err == nil:
		return []string{filepath.Clean(name)}, nil
	case !errors.Is(err, fs.ErrNotExist) && !isPattern(name):
		return nil, err
	case !isPattern(name):
		return nil, nil
	}
	pattern := filepath.ToSlash(filepath.Clean(name))
	if !doublestar.ValidatePattern(pattern) {
		return nil, fmt.Errorf("invalid file pattern %q", name)
	}
	base, _ := doublestar.SplitPattern(pattern)
	return walk(ctx, filepath.FromSlash(base), pattern, func(path string) bool {
		return doublestar.MatchUnvalidated(pattern, filepath.ToSlash(path))
	})
}

func isPattern(name string) bool { return strings.ContainsAny(name, "*?[{") }

// isSkipped reports whether a directory is hidden and no element of the pattern that
// starts with a dot matches it.
func isSkipped(name, pattern string) bool {
	return strings.HasPrefix(name, ".") && !slices.ContainsFunc(strings.Split(pattern, "/"), func(element string) bool {
		return strings.HasPrefix(element, ".") && doublestar.MatchUnvalidated(element, name)
	})
}

// walk returns the matching files below a directory. pattern can be empty.
func walk(ctx context.Context, dir, pattern string, wanted func(path string) bool) ([]string, error) {
	var found []string
	dir += string(filepath.Separator) // if dir is a link, this follows it
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case errors.Is(err, fs.ErrNotExist): // dir doesn't exist, or another process removed a file
			return nil
		case err != nil:
			return err
		case entry.IsDir() && path != dir && isSkipped(entry.Name(), pattern):
			return fs.SkipDir
		case entry.IsDir() || !wanted(path):
			return nil
		case len(found) == maxFiles:
			return fmt.Errorf("%s has more than %d matching files", dir, maxFiles)
		}
		found = append(found, path)
		return nil
	})
	return found, err
}
