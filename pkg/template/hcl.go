package template

import (
	"fmt"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"
)

// isHCL reports whether a template has sequences of the HCL form, including escaped ones.
func isHCL(body string) bool {
	return strings.Contains(body, "${") || strings.Contains(body, "%{")
}

// otherForm matches variables in the {…} form. Variables that follow $ or % are HCL
// sequences.
var otherForm = regexp.MustCompile(`(?:^|[^$%])(\{(?:hostname|namespace|type)\})`)

// HCL returns the template in the form of OpenTofu's oci_mirror block.
func (t Template) HCL() string {
	if isHCL(t.text) {
		return t.text
	}
	return strings.NewReplacer("{hostname}", "${hostname}", "{namespace}", "${namespace}", "{type}", "${type}").Replace(t.text)
}

// lastOpen matches a sequence without a closing brace.
var lastOpen = regexp.MustCompile(`[$%]\{[^{}]*$`)

// parseHCL parses the HCL form. Like OpenTofu, it evaluates the template once with
// unknown values to find errors that don't depend on the address.
func parseHCL(body string) (uses, *fault) {
	if m := otherForm.FindStringSubmatchIndex(body); m != nil {
		return uses{}, &fault{at: m[2], problem: "the forms {name} and ${name} cannot be mixed; use only one of them"}
	}
	expr, f := parseExpression(body)
	if f != nil {
		return uses{}, f
	}
	var used uses
	for _, v := range expr.Variables() {
		if name := v.RootName(); !used.add(name) {
			return uses{}, &fault{at: v.SourceRange().Start.Byte, problem: fmt.Sprintf("unknown variable %q; %s", name, available)}
		}
	}
	unknown := cty.UnknownVal(cty.String)
	_, f = evalExpression(expr, unknown, unknown, unknown)
	return used, f
}

// evalHCL returns the result of evaluating the template with the given values.
func evalHCL(body string, values variables) (string, *fault) {
	expr, f := parseExpression(body)
	if f != nil {
		return "", f
	}
	v, f := evalExpression(expr, cty.StringVal(values.hostname), cty.StringVal(values.namespace), cty.StringVal(values.typ))
	if f != nil {
		return "", f
	}
	if !v.IsKnown() || v.IsNull() {
		return "", &fault{problem: "evaluates to null, want a string"}
	}
	return v.AsString(), nil
}

func parseExpression(body string) (hclsyntax.Expression, *fault) {
	expr, diags := hclsyntax.ParseTemplate([]byte(body), what, hcl.InitialPos)
	if at := lastOpen.FindStringIndex(body); diags.HasErrors() && at != nil {
		// HCL reports the start of the preceding text.
		return nil, &fault{at: at[0], problem: "the brace is not closed"}
	}
	if diags.HasErrors() {
		return nil, diagnosed(diags)
	}
	return expr, nil
}

// evalExpression evaluates an expression to a string, which can be null or unknown.
func evalExpression(expr hclsyntax.Expression, hostname, namespace, typ cty.Value) (cty.Value, *fault) {
	v, diags := expr.Value(&hcl.EvalContext{Variables: map[string]cty.Value{
		"hostname": hostname, "namespace": namespace, "type": typ,
	}})
	if diags.HasErrors() {
		return cty.NilVal, diagnosed(diags)
	}
	// If a template consists of a single ${…}, it has the type of its expression.
	// Numbers are converted to strings, but lists are not.
	s, err := convert.Convert(v, cty.String)
	if err != nil {
		return cty.NilVal, &fault{problem: "does not evaluate to a string: " + err.Error()}
	}
	return s, nil
}

// diagnosed converts HCL's first error to a fault.
func diagnosed(diags hcl.Diagnostics) *fault {
	for _, d := range diags {
		if d.Severity != hcl.DiagError {
			continue
		}
		text := d.Detail
		if text == "" {
			text = d.Summary
		}
		f := &fault{problem: sentence(text)}
		if d.Subject != nil {
			f.at = d.Subject.Start.Byte
		}
		return f
	}
	return &fault{problem: "is not a valid HCL template"}
}

// sentence converts HCL's message to a part of a sentence. The result is a single line
// that starts with a lower-case letter and has no period.
func sentence(s string) string {
	s = strings.TrimSuffix(strings.Join(strings.Fields(s), " "), ".")
	first, size := utf8.DecodeRuneInString(s)
	return string(unicode.ToLower(first)) + s[size:]
}
