package packagezip

import (
	"slices"
	"strings"
)

// executablePrefix starts the name of every file that OpenTofu may launch.
const executablePrefix = "terraform-provider-"

// Executable names the file that OpenTofu launches for a provider type: of the
// files at the top, the first in lexical order named terraform-provider-TYPE
// and then nothing, or anything after "_" or ".". It goes by names alone, modes
// don't count. The others, sorted, have such a name too and are never launched.
// Without any, name is empty.
//
// The rule is that of CachedProvider.ExecutableFile in OpenTofu's
// internal/providercache.
func (c Contents) Executable(typ string) (name string, others []string) {
	return executable(c.Files, typ)
}

// Executable is what [Contents.Executable] tells, of an archive that was not
// read yet.
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
