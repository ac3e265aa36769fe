package packagezip

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/tofu-oci/tofu-oci/internal/text"
)

const (
	// maxElement is the longest name that common file systems store, in bytes.
	maxElement = 255
	// maxName is Linux's PATH_MAX.
	maxName = 4096
	// maxDepth bounds the directories that one name can make. The deepest trees
	// known, of bundled language runtimes, stay under half of it.
	maxDepth = 64
)

// checkName says what is wrong with an entry's name on any system, not only on
// this one: what a package unpacks to must not depend on where.
func checkName(name string) string {
	switch {
	case name == "":
		return "has no name"
	case len(name) > maxName:
		return fmt.Sprintf("has a name of more than %d bytes", maxName)
	case !utf8.ValidString(name):
		return "has a name that is not UTF-8"
	case strings.HasPrefix(name, "/"):
		return "has an absolute name"
	case strings.Contains(name, `\`):
		return "has a backslash in its name, which is a separator on Windows"
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

// splitName returns the elements of a name; a directory's ends in a slash, which
// makes no element.
func splitName(name string) []string {
	return strings.Split(strings.TrimSuffix(name, "/"), "/")
}

func checkElement(element string) string {
	switch {
	case element == "":
		return "has an empty element in its name"
	case element == "." || element == "..":
		return fmt.Sprintf("has %q as an element of its name", element)
	case len(element) > maxElement:
		return fmt.Sprintf("has more than %d bytes in an element of its name", maxElement)
	case strings.ContainsFunc(element, unicode.IsControl):
		return "has a control character in its name"
	case strings.ContainsAny(element, `:*?"<>|`):
		return `has a character in its name that Windows refuses (one of :*?"<>|)`
	case strings.HasSuffix(element, ".") || strings.HasSuffix(element, " "):
		return "has a name that ends in a dot or space, which Windows drops"
	case text.IsDeviceName(element):
		return "has the name of a device on Windows"
	}
	return ""
}
