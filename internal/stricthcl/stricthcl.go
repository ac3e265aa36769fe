// Package stricthcl reads files in HCL 2's native syntax or JSON syntax. It evaluates
// values without variables or functions. Unknown and duplicate arguments are errors with
// a position in the file.
//
// The package also limits the input of the HCL 1 and HCL 2 parsers ([CheckHCL1],
// [Budget]). A few kilobytes of brackets can exhaust a parser's stack or keep the
// parser busy for minutes. Each token requires hundreds of bytes of memory.
package stricthcl

import (
	"regexp"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/gohcl"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
)

// Decode parses a document in HCL 2's native syntax and decodes it in the same way as
// [DecodeBody]. The caller must limit the document's size. Errors contain file as the
// file name.
func Decode(file string, data []byte, into any) error {
	body, err := Parse(file, data)
	if body == nil {
		return err
	}
	return Join(err, DecodeBody(file, body, into))
}

// Parse parses a document in HCL 2's native syntax. The caller must limit the
// document's size. Errors contain file as the file name and wrap an *[Error] for each
// problem. If duplicate arguments are the only problems, Parse also returns the body, so
// that the caller can find other problems.
func Parse(file string, data []byte) (hcl.Body, error) {
	if err := new(Budget).Check(file, data); err != nil {
		return nil, err
	}
	parsed, diags := hclsyntax.ParseConfig(data, file, hcl.InitialPos)
	if slices.ContainsFunc(diags, func(d *hcl.Diagnostic) bool { return d.Summary != duplicateArgument }) {
		return nil, ofDiagnostics(file, diags)
	}
	return parsed.Body, ofDiagnostics(file, diags)
}

// duplicateArgument is the summary of HCL's diagnostic about an argument that is set
// twice. The parser keeps the first value.
const duplicateArgument = "Attribute redefined"

// DecodeBody decodes a body's blocks and arguments into a struct that has tags of
// package gohcl. Errors wrap an *[Error] for each problem. If there are problems, into
// contains the remaining blocks and arguments.
func DecodeBody(file string, body hcl.Body, into any) error {
	return ofDiagnostics(file, gohcl.DecodeBody(body, nil, into))
}

// ofDiagnostics returns the joined errors for the diagnostics about a file, or nil.
func ofDiagnostics(file string, diags hcl.Diagnostics) error {
	var all []error
	for _, d := range diags {
		if d.Severity == hcl.DiagError {
			all = append(all, OfDiagnostic(file, d))
		}
	}
	return Join(all...)
}

// OfDiagnostic returns the error for a diagnostic about a file.
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

// place matches an additional position in a diagnostic's text, after the file name.
var place = regexp.MustCompile(`^:(\d+),\d+-(\d+(,\d+)?)?`)

// InLines shortens additional positions in a diagnostic's text to their lines, because
// the message already starts with the file name.
func InLines(file, text string) string {
	before, after, found := strings.Cut(text, " at "+file)
	if at := place.FindStringSubmatch(after); found && at != nil {
		return before + " on line " + at[1] + InLines(file, after[len(at[0]):])
	}
	return text
}

// String returns the value of an expression that must be a string. Errors contain the
// argument's name.
func String(name string, expr hcl.Expression) (string, error) {
	value, diags := expr.Value(nil)
	switch {
	case !diags.HasErrors() && value.IsNull():
		return "", Errorf(expr.Range(), "%s is required", name)
	case diags.HasErrors() || value.Type() != cty.String:
		return "", Errorf(expr.Range(), "%s must be a string", name)
	}
	return value.AsString(), nil
}

// Strings calls add with each string in a list and the string's position. The list must
// not be empty. It returns the errors of all elements. The errors contain the
// argument's name.
func Strings(name string, expr hcl.Expression, add func(text string, at hcl.Range) error) error {
	if value, diags := expr.Value(nil); !diags.HasErrors() && value.IsNull() {
		return Errorf(expr.Range(), "%s is required", name)
	}
	list, diags := hcl.ExprList(expr)
	if diags.HasErrors() || len(list) == 0 {
		return Errorf(expr.Range(), "%s must be a non-empty list of strings", name)
	}
	errs := make([]error, 0, len(list))
	for _, element := range list {
		text, err := String("each value in "+name, element)
		if err == nil {
			err = add(text, element.Range())
		}
		errs = append(errs, err)
	}
	return Join(errs...)
}
