package template

import (
	"strings"

	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// moduleVariables contains the variables of [ModuleTemplate].
var moduleVariables = newVariables("module repository template", "module", "hostname", "namespace", "name", "system")

// ModuleTemplate is a parsed template for the repositories of modules. It has the same
// forms as [Template], with the variables hostname, namespace, name, and system.
// Templates with the same text compare equal with ==. The zero value is not a valid
// template.
type ModuleTemplate struct{ template Template }

// ParseModule parses a template for modules, like [Parse].
func ParseModule(text string) (ModuleTemplate, error) {
	t, err := parse(text, moduleVariables)
	return ModuleTemplate{t}, err
}

// String returns the text of the template.
func (t ModuleTemplate) String() string { return t.template.String() }

// Redacted returns the text of the template without passwords. Use it in messages.
func (t ModuleTemplate) Redacted() string { return t.template.Redacted() }

// IsLayout reports whether the template refers to image layouts.
func (t ModuleTemplate) IsLayout() bool { return t.template.IsLayout() }

// Literal returns the text before the first variable, like [Template.Literal].
func (t ModuleTemplate) Literal() string { return t.template.Literal() }

// Invertible reports whether [ModuleTemplate.Match] supports the template.
func (t ModuleTemplate) Invertible() bool { return t.template.Invertible() }

// UsesHostname reports whether the template uses the variable hostname.
func (t ModuleTemplate) UsesHostname() bool { return t.template.UsesHostname() }

// Repository evaluates the template for a module and validates the resulting reference.
// The type of the address is NAME/SYSTEM. The values are converted to lower case,
// because repository names can't contain upper-case letters. Errors are of type
// *[ReferenceError].
func (t ModuleTemplate) Repository(a provider.Address) (Reference, error) {
	name, system, _ := strings.Cut(strings.ToLower(a.Type), "/")
	ref, result, f := t.template.evaluate(subject{moduleVariables, map[string]string{
		"hostname": strings.ToLower(string(a.Host)), "namespace": strings.ToLower(a.Namespace), "name": name, "system": system,
	}})
	if f != nil {
		return Reference{}, &ReferenceError{Template: t.String(), Address: a, Result: result, Component: f.component, Problem: f.problem}
	}
	return ref, nil
}

// Match returns the modules, in lower case, for which the template produces ref. The
// type of each address is NAME/SYSTEM. fits reports whether the reference has the form
// of the template. If the template lacks namespace, name, or system, Match returns no
// modules, because the reference doesn't identify the module. If the template lacks
// hostname, the host is assumed to be [provider.DefaultHost].
//
// The caller must check the addresses, because their parts can contain any character
// except separators.
func (t ModuleTemplate) Match(ref Reference) (modules []provider.Address, fits bool) {
	fits = t.template.split(ref, func(values map[string]string) bool {
		if values["namespace"] == "" || values["name"] == "" || values["system"] == "" {
			return true
		}
		host, err := provider.ParseHost(values["hostname"])
		if err != nil {
			return false
		}
		a := provider.Address{Host: host, Namespace: values["namespace"], Type: values["name"] + "/" + values["system"]}
		again, err := t.Repository(a)
		if err != nil || again != ref {
			return false
		}
		modules = append(modules, a)
		return true
	})
	return modules, fits
}
