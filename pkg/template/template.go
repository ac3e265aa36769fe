package template

import (
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

// what is the kind of value that errors mention.
const what = "repository template"

// Template is a parsed repository template. Templates with the same text are equal by ==.
// The zero value is not a valid template.
type Template struct {
	text string
	uses uses
}

// uses reports which variables a template uses.
type uses struct {
	hostname, namespace, typ bool
}

// add records a variable. It returns false if the variable doesn't exist.
func (u *uses) add(name string) bool {
	switch name {
	case "hostname":
		u.hostname = true
	case "namespace":
		u.namespace = true
	case "type":
		u.typ = true
	default:
		return false
	}
	return true
}

// variables contains the values of the variables for an address.
type variables struct {
	hostname, namespace, typ string
}

// available lists the variables for errors.
const available = "available variables: hostname, namespace, type"

// Parse parses a template in either form. See the package documentation. Variables are
// optional. Only [Template.Repository] checks the result for an address. Errors are of
// type *[provider.SyntaxError].
func Parse(text string) (Template, error) {
	if len(text) > maxLength {
		f := &fault{at: maxLength, problem: "is too long"}
		return Template{}, f.syntax(what, text, 0)
	}
	body, isLayout := strings.CutPrefix(text, layoutPrefix)
	t := Template{text: text}
	f := foreignForm(body, isLayout)
	switch {
	case f != nil:
	case body == "" && isLayout:
		f = &fault{problem: "no path after " + layoutPrefix}
	case body == "":
		f = &fault{problem: "is empty"}
	case isHCL(body):
		t.uses, f = parseHCL(body)
	default:
		_, t.uses, f = parseBraces(body)
	}
	if f != nil {
		return Template{}, f.syntax(what, text, len(text)-len(body))
	}
	return t, nil
}

// String returns the text of the template.
func (t Template) String() string { return t.text }

// Redacted returns the text of the template for messages. It hides passwords.
func (t Template) Redacted() string { return text.RedactUserinfo(t.text) }

// Uses reports which variables the template uses.
func (t Template) Uses() (hostname, namespace, typ bool) {
	return t.uses.hostname, t.uses.namespace, t.uses.typ
}

// IsLayout reports whether the template refers to image layouts.
func (t Template) IsLayout() bool { return strings.HasPrefix(t.text, layoutPrefix) }

// Repository evaluates the template for an address and validates the resulting reference.
// Errors are of type *[ReferenceError].
func (t Template) Repository(a provider.Address) (Reference, error) {
	values := variables{hostname: string(a.Host), namespace: a.Namespace, typ: a.Type}
	body, isLayout := strings.CutPrefix(t.text, layoutPrefix)
	if isLayout {
		values.hostname = strings.ReplaceAll(values.hostname, ":", "_")
	}
	evaluate := evalBraces
	if isHCL(body) {
		evaluate = evalHCL
	}
	result, f := evaluate(body, values)
	var ref Reference
	if f == nil {
		if isLayout {
			ref, f = parseLayout(result)
		} else {
			ref, f = parseRepository(result, a)
		}
	}
	if f != nil {
		return Reference{}, &ReferenceError{Template: t.text, Address: a, Result: result, Component: f.component, Problem: f.problem}
	}
	return ref, nil
}
