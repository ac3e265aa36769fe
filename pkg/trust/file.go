package trust

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"github.com/tofu-oci/tofu-oci/internal/boundedfile"
	"github.com/tofu-oci/tofu-oci/internal/nesting"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// maxFile bounds a trust file, in bytes: a rule takes some hundred.
const maxFile = 1 << 20

// SyntaxError says what is wrong with a trust file, and where.
type SyntaxError struct {
	File string
	// Line and Column count from 1; columns are characters.
	Line, Column int
	// Problem is a sentence without its full stop.
	Problem string
}

func (e *SyntaxError) Error() string {
	return fmt.Sprintf("%s:%d:%d: %s", e.File, e.Line, e.Column, e.Problem)
}

// ReadRules reads a trust file. Errors are those of the file system and
// *[SyntaxError].
func ReadRules(path string) (Rules, error) {
	data, err := boundedfile.ReadAny(path, maxFile)
	if err != nil {
		return nil, err
	}
	return ParseRules(path, data)
}

// ParseRules reads the text of a trust file: blocks trust "PATTERN" in HCL 2's
// native syntax. What is unknown or there twice is an error, as is a pattern that
// two blocks have. file is its name for errors, which are *[SyntaxError].
func ParseRules(file string, data []byte) (Rules, error) {
	if err := nesting.HCL2(data); err != nil {
		deep, _ := errors.AsType[*nesting.Error](err)
		return nil, &SyntaxError{file, deep.Line, deep.Column, deep.Problem}
	}
	parsed, diags := hclsyntax.ParseConfig(data, file, hcl.InitialPos)
	if diags.HasErrors() {
		return nil, ofDiagnostic(diags.Errs()[0], file)
	}
	body, ok := parsed.Body.(*hclsyntax.Body)
	if !ok {
		return nil, &SyntaxError{file, 1, 1, "it has no body"}
	}
	for _, attribute := range sortedAttributes(body) {
		return nil, wrong(attribute.NameRange, "there is no argument %q here, only blocks: trust \"HOST/NAMESPACE/TYPE\" { … }", attribute.Name)
	}
	var rules Rules
	seen := map[provider.Pattern]int{}
	for _, block := range body.Blocks {
		rule, err := parseBlock(block)
		if err != nil {
			return nil, err
		}
		if line, twice := seen[rule.Pattern]; twice {
			return nil, wrong(block.LabelRanges[0], "the pattern %s is that of the block in line %d already", rule.Pattern, line)
		}
		seen[rule.Pattern] = block.TypeRange.Start.Line
		rules = append(rules, rule)
	}
	return rules, nil
}

func parseBlock(block *hclsyntax.Block) (Rule, error) {
	var rule Rule
	switch {
	case block.Type != "trust":
		return rule, wrong(block.TypeRange, "there are no %q blocks, only trust", block.Type)
	case len(block.Labels) != 1:
		return rule, wrong(block.TypeRange, "a trust block has one label, the pattern: trust \"HOST/NAMESPACE/TYPE\" { … }")
	case len(block.Body.Blocks) > 0:
		return rule, wrong(block.Body.Blocks[0].TypeRange, "a trust block has no blocks in it")
	}
	var err error
	if rule.Pattern, err = provider.ParsePattern(block.Labels[0]); err != nil {
		return rule, wrong(block.LabelRanges[0], "%v", err)
	}
	for _, attribute := range sortedAttributes(block.Body) {
		read, known := map[string]func(*hclsyntax.Attribute) error{
			"fingerprints": rule.readFingerprints,
			"expired":      func(a *hclsyntax.Attribute) error { return readAction(a, &rule.Expired) },
			"unsigned":     func(a *hclsyntax.Attribute) error { return readAction(a, &rule.Unsigned) },
			"signed_since": rule.readSince,
		}[attribute.Name]
		if !known {
			return rule, wrong(attribute.NameRange, "there is no argument %q, only fingerprints, expired, unsigned and signed_since", attribute.Name)
		}
		if err := read(attribute); err != nil {
			return rule, err
		}
	}
	return rule, nil
}

func (r *Rule) readFingerprints(a *hclsyntax.Attribute) error {
	value, diags := a.Expr.Value(nil)
	if diags.HasErrors() || value.IsNull() || !value.Type().IsTupleType() || value.LengthInt() == 0 {
		return wrong(a.Expr.Range(), "fingerprints must be a list of strings, and not empty")
	}
	tuple, ok := a.Expr.(*hclsyntax.TupleConsExpr)
	if !ok {
		return wrong(a.Expr.Range(), "fingerprints must be a list of strings")
	}
	for i, element := range value.AsValueSlice() {
		at := tuple.Exprs[i].Range()
		if element.IsNull() || element.Type() != cty.String {
			return wrong(at, "a fingerprint must be a string")
		}
		fingerprint, ok := parseFingerprint(element.AsString())
		if !ok {
			return wrong(at, "a fingerprint has 40 or 64 hexadecimal digits; a key ID of fewer can be forged")
		}
		if slices.Contains(r.Fingerprints, fingerprint) {
			return wrong(at, "the fingerprint is there twice")
		}
		r.Fingerprints = append(r.Fingerprints, fingerprint)
	}
	return nil
}

// parseFingerprint reads a fingerprint of a key of version 4 or 6, with spaces or
// without.
func parseFingerprint(s string) (string, bool) {
	f := strings.ToUpper(strings.ReplaceAll(s, " ", ""))
	ok := (len(f) == 40 || len(f) == 64) && strings.Trim(f, "0123456789ABCDEF") == ""
	return f, ok
}

func (r *Rule) readSince(a *hclsyntax.Attribute) error {
	text, err := readString(a)
	if err != nil {
		return err
	}
	if r.SignedSince, err = provider.ParseVersion(text); err != nil {
		return wrong(a.Expr.Range(), "%v", err)
	}
	return nil
}

func readAction(a *hclsyntax.Attribute, into *Action) error {
	text, err := readString(a)
	if err != nil {
		return err
	}
	if *into = Action(text); !slices.Contains([]Action{Accept, Warn, Refuse}, *into) {
		return wrong(a.Expr.Range(), "%s must be accept, warn or refuse", a.Name)
	}
	return nil
}

func readString(a *hclsyntax.Attribute) (string, error) {
	value, diags := a.Expr.Value(nil)
	if diags.HasErrors() || value.IsNull() || value.Type() != cty.String {
		return "", wrong(a.Expr.Range(), "%s must be a string", a.Name)
	}
	return value.AsString(), nil
}

// sortedAttributes gives the arguments of a body in their order in the file.
func sortedAttributes(body *hclsyntax.Body) []*hclsyntax.Attribute {
	var all []*hclsyntax.Attribute
	for _, a := range body.Attributes {
		all = append(all, a)
	}
	slices.SortFunc(all, func(a, b *hclsyntax.Attribute) int { return a.NameRange.Start.Byte - b.NameRange.Start.Byte })
	return all
}

func wrong(at hcl.Range, format string, args ...any) error {
	return &SyntaxError{at.Filename, at.Start.Line, at.Start.Column, fmt.Sprintf(format, args...)}
}

// ofDiagnostic says what the parser found, such as an argument that is there twice.
func ofDiagnostic(err error, file string) error {
	d, ok := errors.AsType[*hcl.Diagnostic](err)
	if !ok || d.Subject == nil {
		return &SyntaxError{file, 1, 1, err.Error()}
	}
	return wrong(*d.Subject, "%s: %s", d.Summary, strings.TrimSuffix(d.Detail, "."))
}
