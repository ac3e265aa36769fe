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

// isHCL recognizes the HCL form by its sequences. They stay what they are when
// doubled signs escape them.
func isHCL(body string) bool {
	return strings.Contains(body, "${") || strings.Contains(body, "%{")
}

// otherForm finds variables of the {…} form; a sign in front makes them HCL's.
var otherForm = regexp.MustCompile(`(?:^|[^$%])(\{(?:hostname|namespace|type)\})`)

// HCL returns the template in the form that OpenTofu's oci_mirror block wants.
func (t Template) HCL() string {
	if isHCL(t.text) {
		return t.text
	}
	return strings.NewReplacer("{hostname}", "${hostname}", "{namespace}", "${namespace}", "{type}", "${type}").Replace(t.text)
}

// lastOpen finds a sequence after which no brace is closed.
var lastOpen = regexp.MustCompile(`[$%]\{[^{}]*$`)

// parseHCL reads the HCL form. Evaluating it once with unknown values shows
// errors that no address could avoid, as OpenTofu does.
func parseHCL(body string) (uses, *fault) {
	if m := otherForm.FindStringSubmatchIndex(body); m != nil {
		return uses{}, &fault{at: m[2], problem: "the forms {name} and ${name} do not mix; write all variables in one of them"}
	}
	expr, f := parseExpression(body)
	if f != nil {
		return uses{}, f
	}
	var used uses
	for _, v := range expr.Variables() {
		if name := v.RootName(); !used.add(name) {
			return uses{}, &fault{at: v.SourceRange().Start.Byte, problem: fmt.Sprintf("no variable is named %q; %s", name, available)}
		}
	}
	unknown := cty.UnknownVal(cty.String)
	_, f = evalExpression(expr, unknown, unknown, unknown)
	return used, f
}

// evalHCL returns the template's text for some values.
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
		return "", &fault{problem: "gives no text but null"}
	}
	return v.AsString(), nil
}

func parseExpression(body string) (hclsyntax.Expression, *fault) {
	expr, diags := hclsyntax.ParseTemplate([]byte(body), what, hcl.InitialPos)
	if at := lastOpen.FindStringIndex(body); diags.HasErrors() && at != nil {
		// HCL points at the start of the text before it.
		return nil, &fault{at: at[0], problem: "the brace is not closed"}
	}
	if diags.HasErrors() {
		return nil, diagnosed(diags)
	}
	return expr, nil
}

// evalExpression returns a string, which may be null or unknown.
func evalExpression(expr hclsyntax.Expression, hostname, namespace, typ cty.Value) (cty.Value, *fault) {
	v, diags := expr.Value(&hcl.EvalContext{Variables: map[string]cty.Value{
		"hostname": hostname, "namespace": namespace, "type": typ,
	}})
	if diags.HasErrors() {
		return cty.NilVal, diagnosed(diags)
	}
	// A template that is a single ${…} gives the value as it is: a number
	// becomes text, a list does not.
	s, err := convert.Convert(v, cty.String)
	if err != nil {
		return cty.NilVal, &fault{problem: "gives no text: " + err.Error()}
	}
	return s, nil
}

// diagnosed puts HCL's first error into the words and offsets of this package.
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
	return &fault{problem: "is no HCL template"}
}

// sentence makes HCL's prose the part of a sentence: one line, no capital in
// front, no full stop.
func sentence(s string) string {
	s = strings.TrimSuffix(strings.Join(strings.Fields(s), " "), ".")
	first, size := utf8.DecodeRuneInString(s)
	return string(unicode.ToLower(first)) + s[size:]
}
