package sync

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/gocty"

	"github.com/tofu-oci/tofu-oci/internal/stricthcl"
	"github.com/tofu-oci/tofu-oci/internal/text"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// all is the value that selects everything.
const all = "all"

// maxNumber is the maximum value of a number.
const maxNumber = 1_000_000

// position returns "FILE:LINE" for the start of a range.
func position(r hcl.Range) string { return fmt.Sprintf("%s:%d", r.Filename, r.Start.Line) }

// parseArguments calls the function in parse for each argument of a block, in file
// order. It returns all errors, including errors for arguments without a function and
// for missing required arguments. It doesn't report a required argument as missing if
// its name is misspelled. at is the range of the block.
func parseArguments(block string, at hcl.Range, arguments hcl.Attributes, parse map[string]func(*hcl.Attribute) error, required ...string) error {
	sorted := slices.SortedFunc(maps.Values(arguments), func(a, b *hcl.Attribute) int { return a.NameRange.Start.Byte - b.NameRange.Start.Byte })
	var errs []error
	known, misspelled := slices.Sorted(maps.Keys(parse)), map[string]bool{}
	for _, a := range sorted {
		read, ok := parse[a.Name]
		switch {
		case !ok:
			nearest, _ := text.Nearest(a.Name, known)
			misspelled[nearest] = true
			errs = append(errs, unknown(a.NameRange, fmt.Sprintf("unknown argument %q in this %s block", a.Name, block), a.Name, known))
		case block != "target" && isTemplate(a.Expr):
			errs = append(errs, stricthcl.Errorf(a.Expr.Range(), "functions and ${ are supported only in target blocks"))
		default:
			errs = append(errs, read(a))
		}
	}
	for _, name := range required {
		if arguments[name] == nil && !misspelled[name] {
			errs = append(errs, stricthcl.Errorf(at, "missing argument %s in this %s block", name, block))
		}
	}
	return stricthcl.Join(errs...)
}

// into returns a function that stores the value that read returns.
func into[T any](field *T, read func(*hcl.Attribute) (T, error)) func(*hcl.Attribute) error {
	return func(a *hcl.Attribute) (err error) {
		*field, err = read(a)
		return err
	}
}

// isTemplate reports whether an expression calls a function or, in JSON, contains a string
// that HCL would evaluate.
func isTemplate(expr hcl.Expression) (found bool) {
	if node, ok := expr.(hclsyntax.Node); ok {
		_ = hclsyntax.VisitAll(node, func(n hclsyntax.Node) hcl.Diagnostics {
			_, call := n.(*hclsyntax.FunctionCallExpr)
			found = found || call
			return nil
		})
		return found
	}
	value, _ := expr.Value(nil)
	_ = cty.Walk(value, func(_ cty.Path, v cty.Value) (bool, error) {
		found = found || v.Type() == cty.String && !v.IsNull() && hasTemplate(v.AsString())
		return true, nil
	})
	return found
}

// hasTemplate reports whether a string contains the start of an HCL template.
func hasTemplate(s string) bool { return strings.Contains(s, "${") || strings.Contains(s, "%{") }

// unknown returns the error for an unknown word. The error starts with problem and
// suggests the most similar known word.
func unknown(at hcl.Range, problem, word string, known []string) error {
	if nearest, ok := text.Nearest(word, known); ok {
		return stricthcl.Errorf(at, "%s; did you mean %q?", problem, nearest)
	}
	return stricthcl.Errorf(at, "%s: must be one of %s", problem, strings.Join(known, ", "))
}

// oneOf returns a function that reads one of several words.
func oneOf[T ~string](words ...string) func(*hcl.Attribute) (T, error) {
	return func(a *hcl.Attribute) (T, error) {
		word, err := stricthcl.String(a.Name, a.Expr)
		if err == nil && !slices.Contains(words, word) {
			err = unknown(a.Expr.Range(), fmt.Sprintf("unknown %s %q", a.Name, word), word, words)
		}
		return T(word), err
	}
}

// line reads a string that is not empty and has only one line.
func line(a *hcl.Attribute) (string, error) {
	s, err := stricthcl.String(a.Name, a.Expr)
	if err == nil && (strings.TrimSpace(s) == "" || strings.ContainsFunc(s, unicode.IsControl)) {
		err = stricthcl.Errorf(a.Expr.Range(), "%s must be a single line that is not empty", a.Name)
	}
	return s, err
}

// number returns a function that reads an integer, which must not be less than least.
func number(least int) func(*hcl.Attribute) (int, error) {
	return func(a *hcl.Attribute) (n int, err error) {
		value, diags := a.Expr.Value(nil)
		if diags.HasErrors() || gocty.FromCtyValue(value, &n) != nil || n < least || n > maxNumber {
			return 0, stricthcl.Errorf(a.Expr.Range(), "%s must be a whole number from %d to %d", a.Name, least, maxNumber)
		}
		return n, nil
	}
}

// numberOrAll is like number, but also reads "all" as 0.
func numberOrAll(least int) func(*hcl.Attribute) (int, error) {
	return func(a *hcl.Attribute) (int, error) {
		word, err := stricthcl.String(a.Name, a.Expr)
		switch {
		case err != nil:
			return number(least)(a)
		case word != all:
			return 0, stricthcl.Errorf(a.Expr.Range(), "%s must be a whole number without quotes, or %q", a.Name, all)
		}
		return 0, nil
	}
}

func boolean(a *hcl.Attribute) (is bool, err error) {
	value, diags := a.Expr.Value(nil)
	if diags.HasErrors() || gocty.FromCtyValue(value, &is) != nil {
		return false, stricthcl.Errorf(a.Expr.Range(), "%s must be true or false", a.Name)
	}
	return is, nil
}

// parsed returns a function that reads a string and parses it with parse.
func parsed[T any](parse func(string) (T, error)) func(*hcl.Attribute) (T, error) {
	return func(a *hcl.Attribute) (v T, err error) {
		s, err := stricthcl.String(a.Name, a.Expr)
		if err != nil {
			return v, err
		}
		if v, err = parse(s); err != nil {
			return v, stricthcl.Errorf(a.Expr.Range(), "%s: %v", a.Name, err)
		}
		return v, nil
	}
}

var (
	age        = parsed(text.ParseAge)
	constraint = parsed(provider.ParseConstraint)
)

// formatAge returns the shortest string that [text.ParseAge] parses to d.
func formatAge(d time.Duration) string {
	const day = 24 * time.Hour
	if d != 0 && d%day == 0 {
		return strconv.Itoa(int(d/day)) + "d"
	}
	return zeroes.ReplaceAllString(d.String(), "$1")
}

// zeroes matches the zero units at the end of a duration.
var zeroes = regexp.MustCompile(`([hm])(0m)?0s$`)

// constraints reads a constraint or a list of constraints.
func constraints(a *hcl.Attribute) ([]provider.Constraint, error) {
	if _, diags := hcl.ExprList(a.Expr); diags.HasErrors() || isText(a.Expr) {
		c, err := constraint(a)
		return []provider.Constraint{c}, err
	}
	return list(a, provider.ParseConstraint)
}

func isText(expr hcl.Expression) bool {
	value, diags := expr.Value(nil)
	return !diags.HasErrors() && value.Type() == cty.String
}

// list reads a list of strings, which must not be empty or contain duplicates.
func list[T any](a *hcl.Attribute, parse func(string) (T, error)) (values []T, err error) {
	seen := map[string]bool{}
	err = stricthcl.Strings(a.Name, a.Expr, func(s string, at hcl.Range) error {
		v, err := parse(s)
		if err != nil {
			return stricthcl.Errorf(at, "%s: %v", a.Name, err)
		}
		key := fmt.Sprint(v)
		if seen[key] {
			return stricthcl.Errorf(at, "duplicate %q in %s", key, a.Name)
		}
		seen[key] = true
		values = append(values, v)
		return nil
	})
	return values, err
}
