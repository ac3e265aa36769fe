package template

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/tofu-oci/tofu-oci/internal/text"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// maxLength is the maximum length of a template. Repository names have at most 255
// characters, and paths have about 4,096. The limit also bounds the recursion of the
// parsers.
const maxLength = 4096

// layoutPrefix is the prefix of image layout paths in templates and references.
const layoutPrefix = "oci-layout:"

// Template is a parsed repository template. Templates with the same text compare equal
// with ==. The zero value is not a valid template.
type Template struct {
	text string
	uses uses
}

// uses reports which variables a template uses. Bit n represents the n-th name of the
// template's [variables].
type uses uint8

// variables describes the variables of a kind of template.
type variables struct {
	// The fields what (the kind of template) and noun (the kind of object that an
	// address identifies) are used in error messages.
	what, noun string
	// names starts with the hostname and the namespace.
	names []string
	// braces matches variables in the {…} form. Variables that follow $ or % are HCL
	// sequences.
	braces *regexp.Regexp
}

func newVariables(what, noun string, names ...string) *variables {
	return &variables{what: what, noun: noun, names: names, braces: regexp.MustCompile(`(?:^|[^$%])(\{(?:` + strings.Join(names, "|") + `)\})`)}
}

// providerVariables contains the variables of [Template].
var providerVariables = newVariables("repository template", "provider", "hostname", "namespace", "type")

// find returns the set that contains only the given variable. If the variable doesn't
// exist, known is false. If v is nil, all variables exist.
func (v *variables) find(name string) (used uses, known bool) {
	if v == nil {
		return 0, true
	}
	at := slices.Index(v.names, name)
	return 1 << max(at, 0), at >= 0
}

// unknown returns the problem with the name of an unknown variable.
func (v *variables) unknown(name string) string {
	return fmt.Sprintf("unknown variable %q; available variables: %s", name, strings.Join(v.names, ", "))
}

// Parse parses a template in either form. See the package documentation. Variables are
// optional. Only [Template.Repository] checks the result for an address. Errors are of
// type *[provider.SyntaxError].
func Parse(text string) (Template, error) { return parse(text, providerVariables) }

func parse(text string, vars *variables) (Template, error) {
	if len(text) > maxLength {
		f := &fault{at: maxLength, problem: "is too long"}
		return Template{}, f.syntax(vars.what, text, 0)
	}
	body, isLayout := strings.CutPrefix(text, layoutPrefix)
	t := Template{text: text}
	f := foreignForm(body, isLayout, vars)
	switch {
	case f != nil:
	case body == "" && isLayout:
		f = &fault{problem: "no path after " + layoutPrefix}
	case body == "":
		f = &fault{problem: "is empty"}
	case isHCL(body):
		t.uses, f = parseHCL(body, vars)
	default:
		_, t.uses, f = parseBraces(body, vars)
	}
	if f != nil {
		return Template{}, f.syntax(vars.what, text, len(text)-len(body))
	}
	return t, nil
}

// String returns the text of the template.
func (t Template) String() string { return t.text }

// Redacted returns the text of the template without passwords. Use it in messages.
func (t Template) Redacted() string { return text.RedactUserinfo(t.text) }

// Uses reports which variables the template uses.
func (t Template) Uses() (hostname, namespace, typ bool) {
	return t.uses&1 != 0, t.uses&2 != 0, t.uses&4 != 0
}

// UsesHostname reports whether the template uses the variable hostname.
func (t Template) UsesHostname() bool { return t.uses&1 != 0 }

// IsLayout reports whether the template refers to image layouts.
func (t Template) IsLayout() bool { return strings.HasPrefix(t.text, layoutPrefix) }

// Repository evaluates the template for an address and validates the resulting reference.
// Errors are of type *[ReferenceError].
func (t Template) Repository(a provider.Address) (Reference, error) {
	values := map[string]string{"hostname": string(a.Host), "namespace": a.Namespace, "type": a.Type}
	ref, result, f := t.evaluate(subject{providerVariables, values})
	if f != nil {
		return Reference{}, &ReferenceError{Template: t.text, Address: a, Result: result, Component: f.component, Problem: f.problem}
	}
	return ref, nil
}

// subject is the address for which a template is evaluated. The zero value represents
// no address.
type subject struct {
	*variables
	values map[string]string
}

// evaluate returns the reference for an address, and the text from which the reference
// was parsed.
func (t Template) evaluate(s subject) (ref Reference, result string, f *fault) {
	body, isLayout := strings.CutPrefix(t.text, layoutPrefix)
	values := s.values
	if isLayout {
		values = maps.Clone(values)
		values["hostname"] = strings.ReplaceAll(values["hostname"], ":", "_")
	}
	if isHCL(body) {
		result, f = evalHCL(body, values)
	} else {
		result, f = evalBraces(body, values)
	}
	switch {
	case f != nil:
	case isLayout:
		ref, f = parseLayout(result)
	default:
		ref, f = parseRepository(result, s)
	}
	return ref, result, f
}
