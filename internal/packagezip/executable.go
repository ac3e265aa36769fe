package packagezip

import (
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

func executable(files []string, typ string) (name string, others []string) {
	var candidates []string
	for _, file := range files {
		rest, found := strings.CutPrefix(file, executablePrefix+typ)
		if found && !strings.Contains(rest, "/") && (rest == "" || rest[0] == '_' || rest[0] == '.') {
			candidates = append(candidates, file)
		}
	}
	if len(candidates) == 0 {
		return "", nil
	}
	slices.Sort(candidates)
	return candidates[0], candidates[1:]
}
