// Package stricthcl reads files in HCL 2's native syntax that contain only values.
// Unknown and duplicate arguments are errors, with their position in the file.
//
// It also limits what the parsers of HCL 1 and HCL 2 are given ([CheckHCL1], [Budget]):
// a few kilobytes of brackets exhaust the stack of such a parser or keep it busy for
// minutes, and it needs hundreds of bytes of memory for each token.
package stricthcl

import (
	"regexp"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
)

// Parse reads a text, whose size the caller has bounded. file is its name for
// errors, which are *[Error].
func Parse(file string, data []byte) (*hclsyntax.Body, error) {
	if err := new(Budget).Check(file, data); err != nil {
		return nil, err
	}
	parsed, diags := hclsyntax.ParseConfig(data, file, hcl.InitialPos)
	for _, d := range diags {
		if d.Severity == hcl.DiagError {
			return nil, OfDiagnostic(file, d)
		}
	}
	body, ok := parsed.Body.(*hclsyntax.Body)
	if !ok {
		return nil, &Error{Position: Position{file, 1, 1}, Problem: "it has no body"}
	}
	return body, nil
}

// OfDiagnostic returns the error that a diagnostic about a file describes.
func OfDiagnostic(file string, d *hcl.Diagnostic) *Error {
	e := &Error{Position: Position{File: file}, Problem: d.Summary}
	if d.Subject != nil {
		e.Position = PositionOf(*d.Subject)
	}
	if d.Detail != "" {
		e.Problem += ": " + InLines(e.File, d.Detail)
	}
	e.Problem = strings.TrimSuffix(e.Problem, ".")
	return e
}

// place is another place in a diagnostic's text, behind the file's name.
var place = regexp.MustCompile(`^:(\d+),\d+-(\d+(,\d+)?)?`)

// InLines lets a diagnostic's text speak of other places in the same file by their line
// alone: the file is named with the first place already.
func InLines(file, text string) string {
	before, after, found := strings.Cut(text, " at "+file)
	if at := place.FindStringSubmatch(after); found && at != nil {
		return before + " in line " + at[1] + InLines(file, after[len(at[0]):])
	}
	return text
}

// Attributes returns the arguments of a body in their order in the file.
func Attributes(body *hclsyntax.Body) []*hclsyntax.Attribute {
	var all []*hclsyntax.Attribute
	for _, a := range body.Attributes {
		all = append(all, a)
	}
	slices.SortFunc(all, func(a, b *hclsyntax.Attribute) int { return a.NameRange.Start.Byte - b.NameRange.Start.Byte })
	return all
}

// Argument is one that a body may have, and who reads it.
type Argument struct {
	Name string
	Read func(*hclsyntax.Attribute) error
}

// Arguments reads those of a body in their order in the file. What is not known is
// an error.
func Arguments(body *hclsyntax.Body, known ...Argument) error {
	for _, a := range Attributes(body) {
		i := slices.IndexFunc(known, func(k Argument) bool { return k.Name == a.Name })
		if i < 0 {
			return Wrong(a.NameRange, "there is no argument %q, only %s", a.Name, listed(known))
		}
		if err := known[i].Read(a); err != nil {
			return err
		}
	}
	return nil
}

func listed(known []Argument) string {
	var names []string
	for _, k := range known {
		names = append(names, k.Name)
	}
	last := len(names) - 1
	if last < 1 {
		return strings.Join(names, "")
	}
	return strings.Join(names[:last], ", ") + " and " + names[last]
}

// String returns the value of an argument that has to be a string.
func String(a *hclsyntax.Attribute) (string, error) {
	value, diags := a.Expr.Value(nil)
	if diags.HasErrors() || value.IsNull() || value.Type() != cty.String {
		return "", Wrong(a.Expr.Range(), "%s must be a string", a.Name)
	}
	return value.AsString(), nil
}

// Strings visits each string of an argument that has to be a list of them, with its
// place, to add. The list must not be empty. one names what an element is.
func Strings(a *hclsyntax.Attribute, one string, add func(text string, at hcl.Range) error) error {
	value, diags := a.Expr.Value(nil)
	if diags.HasErrors() || value.IsNull() || !value.Type().IsTupleType() || value.LengthInt() == 0 {
		return Wrong(a.Expr.Range(), "%s must be a list of strings, and not empty", a.Name)
	}
	tuple, ok := a.Expr.(*hclsyntax.TupleConsExpr)
	if !ok {
		return Wrong(a.Expr.Range(), "%s must be a list of strings", a.Name)
	}
	for i, element := range value.AsValueSlice() {
		at := tuple.Exprs[i].Range()
		if element.IsNull() || element.Type() != cty.String {
			return Wrong(at, "%s must be a string", one)
		}
		if err := add(element.AsString(), at); err != nil {
			return err
		}
	}
	return nil
}
