package template

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// Reference names one OCI repository: a registry's, or an image layout's
// directory. References are comparable by ==. Only [ParseReference] and
// [Template.Repository] make them; the zero value names none.
type Reference struct {
	// Layout is the path of an image layout as it was written; use
	// filepath.FromSlash to open it. Empty for a registry's repository.
	Layout string
	// Registry is "host" or "host:port".
	Registry string
	// Name is the repository's name in that registry: "acme/providers/x".
	Name string
}

// ParseReference reads what [Reference.String] gives: "host/name" or
// "oci-layout:path". There is no default registry, and no tag. Errors are
// *[provider.SyntaxError].
func ParseReference(s string) (Reference, error) {
	var ref Reference
	var f *fault
	path, isLayout := strings.CutPrefix(s, layoutPrefix)
	if isLayout {
		ref, f = parseLayout(path)
	} else {
		ref, f = parseRepository(s, provider.Address{})
	}
	if f != nil {
		return Reference{}, f.syntax("repository", s, len(s)-len(path))
	}
	return ref, nil
}

// IsLayout tells an image layout from a registry's repository.
func (r Reference) IsLayout() bool { return r.Layout != "" }

// String returns "host/name", or "oci-layout:path". It is empty for the zero value.
func (r Reference) String() string {
	switch {
	case r.IsLayout():
		return layoutPrefix + r.Layout
	case r == Reference{}:
		return ""
	}
	return r.Registry + "/" + r.Name
}

// parseLayout reads the path after "oci-layout:", which may be any path that is
// text on one line.
func parseLayout(path string) (Reference, *fault) {
	at := strings.IndexFunc(path, unicode.IsControl)
	switch {
	case path == "":
		return Reference{}, &fault{problem: "the path is empty"}
	case !utf8.ValidString(path):
		return Reference{}, &fault{problem: "the path is not valid UTF-8"}
	case at >= 0:
		return Reference{}, &fault{at: at, problem: "the path has a control character"}
	}
	return Reference{Layout: path}, nil
}
