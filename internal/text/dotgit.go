package text

import (
	"strings"
	"unicode"
)

// IsDotGit reports whether a name is .git on any system. Windows removes trailing dots
// and spaces, and has short names. macOS ignores invisible characters. Git and editors
// run programs that the configuration in a directory with this name specifies.
func IsDotGit(name string) bool {
	name = strings.Map(func(r rune) rune {
		if unicode.Is(unicode.Cf, r) {
			return -1
		}
		return r
	}, name)
	name = strings.TrimRight(name, ". ")
	return strings.EqualFold(name, ".git") || strings.EqualFold(name, "git~1")
}
