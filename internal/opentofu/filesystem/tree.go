package filesystem

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/mod/sumdb/dirhash"

	"github.com/tofu-oci/tofu-oci/internal/bounded"
)

const (
	// maxTreeFiles is the maximum number of files in an unpacked package. maxTreeBytes
	// is their maximum total size. Package packagezip limits zips in the same way.
	maxTreeFiles = 100_000
	maxTreeBytes = 4 << 30
)

// hashTree returns the h1 of the files in a directory. dir can be a symbolic link.
// hashTree returns an error for links inside the directory, because their targets are
// not part of the package.
func hashTree(ctx context.Context, dir string) (string, error) {
	resolved, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return "", err
	}
	names, err := treeFiles(ctx, resolved)
	if err != nil {
		return "", err
	}
	if len(names) == 0 {
		return "", fmt.Errorf("%s is empty", dir)
	}
	h1, err := dirhash.Hash1(names, func(name string) (io.ReadCloser, error) {
		f, err := os.Open(filepath.Join(resolved, filepath.FromSlash(name)))
		if err != nil {
			return nil, err
		}
		return bounded.ReadCloser(ctx, f), nil
	})
	if err != nil {
		return "", fmt.Errorf("hashing %s: %w", dir, err)
	}
	return h1, nil
}

// treeFiles returns the slash-separated paths of all files in a directory.
func treeFiles(ctx context.Context, dir string) ([]string, error) {
	var names []string
	left := int64(maxTreeBytes)
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err == nil {
			err = ctx.Err()
		}
		if err != nil || entry.IsDir() {
			return err
		}
		if !entry.Type().IsRegular() {
			return fmt.Errorf("%s is neither a file nor a directory", path)
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		if left -= info.Size(); left < 0 || len(names) == maxTreeFiles {
			return fmt.Errorf("%s exceeds %d files or %d bytes", dir, maxTreeFiles, int64(maxTreeBytes))
		}
		name, err := filepath.Rel(dir, path)
		names = append(names, filepath.ToSlash(name))
		return err
	})
	return names, err
}
