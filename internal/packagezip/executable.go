package packagezip

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// executablePrefix is the prefix of all files that OpenTofu can start.
const executablePrefix = "terraform-provider-"

// Executable returns the file that OpenTofu starts for a provider type. OpenTofu
// considers files at the top level with the name terraform-provider-TYPE, optionally
// followed by "_" or "." and more characters. It ignores modes and starts the first
// file in lexical order. others contains the remaining candidates, sorted. If the
// archive has no candidates, name is empty.
//
// The rule is the same as in CachedProvider.ExecutableFile in OpenTofu's
// internal/providercache.
func (c Contents) Executable(typ string) (name string, others []string) {
	return executable(c.Files, typ)
}

// Executable is like [Contents.Executable], but does not read the archive's contents.
func (r *Reader) Executable(typ string) (name string, others []string) {
	return r.listed().Executable(typ)
}

// listed returns the archive's contents without hashes.
func (r *Reader) listed() Contents {
	entries := make([]entry, len(r.entries))
	for i, e := range r.entries {
		entries[i] = e.entry
	}
	return listed(entries)
}

// ExecutableIn is like [Contents.Executable], but reads the directory of an unpacked
// package.
func ExecutableIn(dir, typ string) (name string, err error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return "", err
	}
	var files []string
	for _, entry := range entries {
		if !entry.IsDir() {
			files = append(files, entry.Name())
		}
	}
	name, _ = executable(files, typ)
	return name, nil
}

func executable(files []string, typ string) (name string, others []string) {
	var candidates []string
	for _, file := range files {
		if isNamed(typ, file) && !strings.Contains(file, "/") {
			candidates = append(candidates, file)
		}
	}
	if len(candidates) == 0 {
		return "", nil
	}
	slices.Sort(candidates)
	return candidates[0], candidates[1:]
}

// UnpackExecutable unpacks a zip file to a directory and returns the path of the
// executable.
func UnpackExecutable(ctx context.Context, zip, dir, typ string) (path string, err error) {
	f, err := os.Open(zip)
	if err != nil {
		return "", err
	}
	defer func() { _ = f.Close() }()
	info, err := f.Stat()
	if err != nil {
		return "", err
	}
	archive, err := Open(f, info.Size())
	if err != nil {
		return "", err
	}
	name, _ := archive.Executable(typ)
	if name == "" {
		return "", fmt.Errorf("the package contains no executable %s%s: %w", executablePrefix, typ, fs.ErrNotExist)
	}
	return filepath.Join(dir, filepath.FromSlash(name)), archive.Unpack(ctx, dir)
}
