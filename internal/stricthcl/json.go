package stricthcl

import (
	"bytes"
	"cmp"
	"strings"
	"unicode/utf8"

	"github.com/hashicorp/hcl/v2"
	hcljson "github.com/hashicorp/hcl/v2/json"
)

// ParseJSON parses a document in HCL 2's JSON syntax. HCL supports several forms of a
// block, but ParseJSON accepts only one form. In this form, a block is an object. A
// block with labels is nested in one object for each label. All blocks of a type are in
// the same object, so a label occurs only once. blocks contains the number of labels
// for each type of block. Duplicate keys are errors. The caller must limit the
// document's size. Errors contain file as the file name and wrap
// an *[Error] for each problem.
func ParseJSON(file string, data []byte, blocks map[string]int) (hcl.Body, error) {
	if err := new(Budget).CheckJSON(file, data); err != nil {
		return nil, err
	}
	parsed, diags := hcljson.Parse(data, file)
	if len(diags) > 0 { // the first error causes all others
		return nil, OfDiagnostic(file, diags[0])
	}
	whole, _ := hcljson.ParseExpression(data, file) // the expression has no other errors
	if err := (shape{data, blocks}).check(whole, nil); err != nil {
		return nil, err
	}
	return parsed.Body, nil
}

// shape checks a JSON document's form.
type shape struct {
	data   []byte
	blocks map[string]int
}

// check checks the form of a value. path contains the keys of the enclosing objects.
// Values that contain blocks must be objects: the document itself, the value of a block
// type, and the values of its labels.
func (s shape) check(value hcl.Expression, path []string) error {
	pairs, diags := hcl.ExprMap(value)
	isBlock := len(path) == 0
	if !isBlock {
		labels, ok := s.blocks[path[0]]
		isBlock = ok && len(path) <= 1+labels
	}
	if isBlock && diags.HasErrors() {
		return s.wrong(value.Range(), "%s must be an object", cmp.Or(strings.Join(path, " "), "the document"))
	}
	lines := map[string]int{}
	var errs []error
	for _, pair := range pairs {
		name, _ := pair.Key.Value(nil) // a key is always a string
		key, at := name.AsString(), pair.Key.Range()
		if line, duplicate := lines[key]; duplicate {
			errs = append(errs, s.wrong(at, "duplicate key %q: already used on line %d", key, line))
			continue
		}
		lines[key] = at.Start.Line
		errs = append(errs, s.check(pair.Value, append(path, key)))
	}
	elements, _ := hcl.ExprList(value)
	for _, element := range elements {
		errs = append(errs, s.check(element, append(path, "")))
	}
	return Join(errs...)
}

// wrong returns an error at a range. It computes the column itself, because HCL's JSON
// parser miscounts columns after tabs.
func (s shape) wrong(at hcl.Range, format string, args ...any) error {
	before := s.data[:at.Start.Byte]
	at.Start.Column = utf8.RuneCount(before[bytes.LastIndexByte(before, '\n')+1:]) + 1
	return Errorf(at, format, args...)
}
