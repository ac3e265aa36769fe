package packagezip

import (
	"os"
	"slices"
	"strings"
)

// executablePrefix is the prefix of all files that OpenTofu can start.
const executablePrefix = "terraform-provider-"

// Executable returns the file that OpenTofu starts for a provider type: of the files at
// the top level, the first one in lexical order whose name is terraform-provider-TYPE,
// optionally followed by "_" or "." and more characters. Modes are ignored. others,
// sorted, are further files with such names, which are never started. If the archive
// has none, name is empty.
//
// The rule is the same as in CachedProvider.ExecutableFile in OpenTofu's
// internal/providercache.
func (c Contents) Executable(typ string) (name string, others []string) {
	return executable(c.Files, typ)
}

// Executable is like [Contents.Executable], but does not read the contents of the
// archive.
func (r *Reader) Executable(typ string) (name string, others []string) {
	var files []string
	for _, e := range r.entries {
		if !e.isDirectory() {
			files = append(files, e.name)
		}
	}
	return executable(files, typ)
}

// ExecutableIn is like [Contents.Executable], for the directory of an unpacked package.
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
