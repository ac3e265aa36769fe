package cliconfig

import (
	"strings"

	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/template"
)

// template parses an oci_mirror block's repository template. Like OpenTofu, it checks
// the template before any provider is looked up.
func (r *reader) template(m Method, text string, v value) template.Template {
	if text == "" {
		return template.Template{}
	}
	t, err := template.Parse(text)
	switch {
	case err != nil:
		r.syntax(v, err)
		return t
	case t.IsLayout():
		r.fail(v.at, "the repositories of an oci_mirror must be in a registry, because OpenTofu does not support image layouts such as %s", t)
		return t
	case t.HCL() != t.String():
		r.fail(v.at, "variables must have the form ${…} in this file: %s", t.HCL())
		return t
	}
	missing, ambiguous := uncovered(t, m.Include)
	for _, part := range missing {
		r.fail(m.Position, "the template %s must use ${%s} unless the patterns in include specify exactly one %s", t, part, part)
	}
	for _, part := range ambiguous {
		r.note(NoteAmbiguous, m.Position, "the template %s does not contain ${%s}, but a pattern in include has a wildcard for this part, so different providers might be installed from the same repository; OpenTofu does not report this", t, part)
	}
	if err := checkExample(t); err != nil {
		r.fail(v.at, "%v", err)
	}
	return t
}

// checkExample evaluates a template for the example address that OpenTofu uses for
// validation.
func checkExample(t template.Template) error {
	example, err := provider.ParseAddress("example.com/example-namespace/example-type")
	if err == nil {
		_, err = t.Repository(example)
	}
	return err
}

// uncovered returns the address parts that a template must use but doesn't. The
// template must use each part that include does not limit to one value. A part is
// ambiguous if one pattern limits the part and a different pattern doesn't. OpenTofu
// accepts templates that omit ambiguous parts.
func uncovered(t template.Template, include []provider.Pattern) (missing, ambiguous []string) {
	usesHost, usesNamespace, usesType := t.Uses()
	for i, part := range []struct {
		name string
		used bool
	}{{"hostname", usesHost}, {"namespace", usesNamespace}, {"type", usesType}} {
		if part.used {
			continue
		}
		fixed, open := map[string]bool{}, false
		for _, p := range include {
			// Slashes separate the parts of a pattern.
			if text := strings.Split(p.String(), "/")[i]; text != "*" {
				fixed[text] = true
			} else {
				open = true
			}
		}
		if len(fixed) != 1 {
			missing = append(missing, part.name)
		} else if open {
			ambiguous = append(ambiguous, part.name)
		}
	}
	return missing, ambiguous
}
