package template

import (
	"strings"

	"github.com/tofu-oci/tofu-oci/internal/text"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// maxLength bounds a template. Repository names end at 255 characters and paths
// at about 4,096; the parsers below recurse into what is nested.
const maxLength = 4096

// layoutPrefix marks paths of OCI image layouts, in templates and references.
const layoutPrefix = "oci-layout:"

// what names the kind of text in errors.
const what = "repository template"

// Template is a repository template that was parsed. Templates of the same text
// are equal by ==. The zero value names no repository.
type Template struct {
	text string
	uses uses
}

// uses tells which variables a template refers to.
type uses struct {
	hostname, namespace, typ bool
}

// add notes a variable; false when there is none of that name.
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

// variables are the values that an address gives a template.
type variables struct {
	hostname, namespace, typ string
}

// available ends an error about a variable that there is not.
const available = "there are hostname, namespace and type"

// Parse reads a template in any form, see the package's documentation. What it
// makes of an address is checked by [Template.Repository] only, and a template
// without variables is fine. Errors are *[provider.SyntaxError].
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

// String returns the text that was parsed.
func (t Template) String() string { return t.text }

// Redacted returns the text that was parsed without a password that stands where
// only a registry belongs, for messages.
func (t Template) Redacted() string { return text.RedactUserinfo(t.text) }

// Uses tells which variables the template refers to.
func (t Template) Uses() (hostname, namespace, typ bool) {
	return t.uses.hostname, t.uses.namespace, t.uses.typ
}

// IsLayout reports whether the template gives paths of OCI image layouts.
func (t Template) IsLayout() bool { return strings.HasPrefix(t.text, layoutPrefix) }

// Repository evaluates the template for an address and checks the result
// against the grammar of repository names. Errors are *[ReferenceError].
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
