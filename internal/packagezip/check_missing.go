package packagezip

import (
	"fmt"
	"path"
	"strings"

	"github.com/klauspost/compress/zip"
)

// missing returns the message for a package in which OpenTofu finds no executable. It
// lists files with similar names.
func missing(typ string, files []*zip.File) string {
	var near []string
	for _, file := range files {
		if reason := nearMiss(typ, file.Name); reason != "" && len(near) < maxEnumerated {
			near = append(near, fmt.Sprintf("; %q %s", file.Name, reason))
		}
	}
	want := executablePrefix + typ
	return fmt.Sprintf(`no executable that OpenTofu would find: expected a file named %s, %s_*, or %s.* at the top level of the archive`, want, want, want) +
		strings.Join(near, "")
}

// nearMiss explains why a file is not recognized as the executable, or returns an empty
// string.
func nearMiss(typ, name string) string {
	base := path.Base(name)
	switch {
	case isNamed(typ, base):
		// The file would be recognized at the top level.
		return "is in a directory"
	case isNamed(strings.ToLower(typ), strings.ToLower(base)):
		return "differs in case"
	case strings.HasPrefix(strings.ToLower(base), executablePrefix):
		return "is for a different provider type"
	}
	return ""
}

// isNamed reports whether OpenTofu recognizes a file with this name as the provider's
// executable.
func isNamed(typ, base string) bool {
	rest, found := strings.CutPrefix(base, executablePrefix+typ)
	return found && (rest == "" || rest[0] == '_' || rest[0] == '.')
}
