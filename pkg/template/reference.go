package template

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Reference refers to an OCI repository in a registry or to an image layout directory.
// References are comparable using ==. Create them with [ParseReference] and
// [Template.Repository]. The zero value is not a valid reference.
type Reference struct {
	// Layout is the path of an image layout as it was written. To open the path, use
	// filepath.FromSlash. Layout is empty for a repository in a registry.
	Layout string
	// Registry is "host" or "host:port".
	Registry string
	// Name is the name of the repository in the registry, such as "acme/providers/x".
	Name string
}

// ParseReference parses the form of [Reference.String]: "host/name" or "oci-layout:path".
// The registry is required, and tags are not allowed. Errors are of type
// *[provider.SyntaxError].
func ParseReference(s string) (Reference, error) {
	var ref Reference
	var f *fault
	path, isLayout := strings.CutPrefix(s, layoutPrefix)
	if isLayout {
		ref, f = parseLayout(path)
	} else {
		ref, f = parseRepository(s, subject{})
	}
	if f != nil {
		return Reference{}, f.syntax("repository", s, len(s)-len(path))
	}
	return ref, nil
}

// IsLayout reports whether the reference refers to an image layout.
func (r Reference) IsLayout() bool { return r.Layout != "" }

// String returns "host/name" or "oci-layout:path". It returns "" for the zero value.
func (r Reference) String() string {
	switch {
	case r.IsLayout():
		return layoutPrefix + r.Layout
	case r == Reference{}:
		return ""
	}
	return r.Registry + "/" + r.Name
}

// parseLayout parses the path after "oci-layout:", which can be any UTF-8 text on one
// line.
func parseLayout(path string) (Reference, *fault) {
	at := strings.IndexFunc(path, unicode.IsControl)
	switch {
	case path == "":
		return Reference{}, &fault{problem: "the path is empty"}
	case !utf8.ValidString(path):
		return Reference{}, &fault{problem: "the path is not valid UTF-8"}
	case at >= 0:
		return Reference{}, &fault{at: at, problem: "the path contains a control character"}
	}
	return Reference{Layout: path}, nil
}
