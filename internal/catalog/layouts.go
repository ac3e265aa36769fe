package catalog

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/tofu-oci/tofu-oci/pkg/repository"
	"github.com/tofu-oci/tofu-oci/pkg/template"
)

const (
	// maxEntries is the maximum number of directory entries to read for a template.
	maxEntries = 100_000
	// entriesAtOnce is the maximum number of entries that a single call reads.
	entriesAtOnce = 1000
	// layoutFile is the marker file of an image layout. See
	// https://github.com/opencontainers/image-spec/blob/v1.1.1/image-layout.md#oci-layout-file.
	layoutFile = "oci-layout"
)

// layouts returns the image layouts that match a template.
func layouts(ctx context.Context, t pattern) ([]template.Reference, error) {
	_, path, _ := strings.Cut(t.text, ":")
	dirs, err := directories(ctx, path)
	if errors.Is(err, fs.ErrNotExist) {
		err = fmt.Errorf("%w: %w", repository.ErrNoLayout, err)
	}
	if err != nil {
		return nil, fmt.Errorf("searching for image layouts of %s: %w", t.redacted, err)
	}
	var found []template.Reference
	for _, dir := range dirs {
		ref := template.Reference{Layout: dir}
		info, err := os.Stat(filepath.Join(filepath.FromSlash(dir), layoutFile))
		if t.fits(ref) && err == nil && info.Mode().IsRegular() {
			found = append(found, ref)
		}
	}
	return found, ctx.Err()
}

// directories returns the directories that match a path with variables.
func directories(ctx context.Context, path string) ([]string, error) {
	dirs, left, deep := []string{""}, maxEntries, false
	for _, element := range elements(path) {
		name := strings.TrimRight(filepath.ToSlash(element), "/")
		if !strings.Contains(name, "{") {
			for i := range dirs {
				dirs[i] += element
			}
			continue
		}
		var below []string
		for _, dir := range dirs {
			names, err := subdirectories(ctx, dir, &left)
			// Ignore unreadable directories that match a variable, such as lost+found.
			if err != nil && (!deep || left < 0 || ctx.Err() != nil) {
				return nil, err
			}
			for _, n := range names {
				below = append(below, dir+n+element[len(name):])
			}
		}
		dirs, deep = below, true
	}
	return dirs, nil
}

// elements splits a path after its separators, which variables cannot contain.
func elements(path string) []string {
	var all []string
	start := 0
	for i := range len(path) {
		if os.IsPathSeparator(path[i]) {
			all = append(all, path[start:i+1])
			start = i + 1
		}
	}
	return append(all, path[start:])
}

// subdirectories returns a directory's subdirectories, including links to directories.
// left is the number of entries that can still be read.
func subdirectories(ctx context.Context, dir string, left *int) ([]string, error) {
	path := filepath.Clean(filepath.FromSlash(dir))
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var names []string
	for err == nil {
		var entries []fs.DirEntry
		entries, err = f.ReadDir(entriesAtOnce)
		for _, e := range entries {
			if e.IsDir() || e.Type()&os.ModeSymlink != 0 && isDirectory(filepath.Join(path, e.Name())) {
				names = append(names, e.Name())
			}
		}
		if *left -= len(entries); *left < 0 {
			return nil, fmt.Errorf("more than %d files and directories", maxEntries)
		}
		err = cmp.Or(ctx.Err(), err)
	}
	if !errors.Is(err, io.EOF) {
		return nil, err
	}
	return names, nil
}

func isDirectory(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}
