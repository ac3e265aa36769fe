package packagezip

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/tofu-oci/tofu-oci/internal/text"
)

const (
	// maxElement is the maximum length of a name in common file systems, in bytes.
	maxElement = 255
	// maxName is PATH_MAX on Linux.
	maxName = 4096
	// maxDepth limits the number of directories in a name. The deepest known trees,
	// which belong to bundled language runtimes, have less than half this depth.
	maxDepth = 64
)

// checkName returns the problem with an entry's name, or an empty string. It applies
// the rules of all systems, so that the result is the same on every system.
func checkName(name string) string {
	switch {
	case name == "":
		return "has no name"
	case len(name) > maxName:
		return fmt.Sprintf("has a name that exceeds %d bytes", maxName)
	case !utf8.ValidString(name):
		return "has a name that is not UTF-8"
	case strings.HasPrefix(name, "/"):
		return "has an absolute path"
	case strings.Contains(name, `\`):
		return "has a name with a backslash, which is a separator on Windows"
	}
	elements := splitName(name)
	if len(elements) > maxDepth {
		return fmt.Sprintf("is more than %d directories deep", maxDepth)
	}
	for _, element := range elements {
		if problem := checkElement(element); problem != "" {
			return problem
		}
	}
	return ""
}

// splitName returns the elements of a name. The trailing slash of a directory name adds
// no element.
func splitName(name string) []string {
	return strings.Split(strings.TrimSuffix(name, "/"), "/")
}

func checkElement(element string) string {
	switch {
	case element == "":
		return "has an empty element in its name"
	case element == "." || element == "..":
		return fmt.Sprintf("has the element %q in its name", element)
	case len(element) > maxElement:
		return fmt.Sprintf("has an element longer than %d bytes in its name", maxElement)
	case strings.ContainsFunc(element, unicode.IsControl):
		return "has a control character in its name"
	case strings.ContainsAny(element, `:*?"<>|`):
		return `has a character in its name that Windows does not allow (one of :*?"<>|)`
	case strings.HasSuffix(element, ".") || strings.HasSuffix(element, " "):
		return "has a name with a trailing dot or space, which Windows removes"
	case text.IsDeviceName(element):
		return "has the name of a Windows device"
	case text.IsDotGit(element):
		return fmt.Sprintf("has the element %q in its name, so Git could run programs from the archive", element)
	}
	return ""
}
