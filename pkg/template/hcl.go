package template

import (
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"
)

// isHCL reports whether a template contains HCL sequences, including escaped sequences.
func isHCL(body string) bool {
	return strings.Contains(body, "${") || strings.Contains(body, "%{")
}

// HCL returns the template in the form that OpenTofu's oci_mirror block requires.
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
func parseHCL(body string, vars *variables) (uses, *fault) {
	if m := vars.braces.FindStringSubmatchIndex(body); m != nil {
		return 0, &fault{at: m[2], problem: "the forms {name} and ${name} cannot be mixed; use only one of them"}
	}
	expr, f := parseExpression(body)
	if f != nil {
		return 0, f
	}
	var used uses
	for _, v := range expr.Variables() {
		use, known := vars.find(v.RootName())
		if !known {
			return 0, &fault{at: v.SourceRange().Start.Byte, problem: vars.unknown(v.RootName())}
		}
		used |= use
	}
	unknown := map[string]cty.Value{}
	for _, name := range vars.names {
		unknown[name] = cty.UnknownVal(cty.String)
	}
	_, f = evalExpression(expr, unknown)
	return used, f
}

// evalHCL returns the result of evaluating the template with the given values.
func evalHCL(body string, values map[string]string) (string, *fault) {
	expr, f := parseExpression(body)
	if f != nil {
		return "", f
	}
	known := map[string]cty.Value{}
	for name, value := range values {
		known[name] = cty.StringVal(value)
	}
	v, f := evalExpression(expr, known)
	if f != nil {
		return "", f
	}
	if !v.IsKnown() || v.IsNull() {
		return "", &fault{problem: "evaluates to null, want a string"}
	}
	return v.AsString(), nil
}

func parseExpression(body string) (hclsyntax.Expression, *fault) {
	expr, diags := hclsyntax.ParseTemplate([]byte(body), "template", hcl.InitialPos)
	if at := lastOpen.FindStringIndex(body); diags.HasErrors() && at != nil {
		// For an unclosed sequence, the position of HCL's error can be the start of the
		// preceding text, so use the start of the sequence instead.
		return nil, &fault{at: at[0], problem: "the brace is not closed"}
	}
	if diags.HasErrors() {
		return nil, diagnosed(diags)
	}
	return expr, nil
}

// evalExpression evaluates an expression to a string, which can be null or unknown.
func evalExpression(expr hclsyntax.Expression, variables map[string]cty.Value) (cty.Value, *fault) {
	v, diags := expr.Value(&hcl.EvalContext{Variables: variables})
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
		f := &fault{problem: fragment(text)}
		if d.Subject != nil {
			f.at = d.Subject.Start.Byte
		}
		return f
	}
	return &fault{problem: "is not a valid HCL template"}
}

// fragment converts an HCL message to a sentence fragment. The result is a single line
// that starts with a lower-case letter and has no period.
func fragment(s string) string {
	s = strings.TrimSuffix(strings.Join(strings.Fields(s), " "), ".")
	first, size := utf8.DecodeRuneInString(s)
	return string(unicode.ToLower(first)) + s[size:]
}
