package lockfile

import (
	"slices"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"

	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// Arguments of a provider block.
const (
	argVersion     = "version"
	argConstraints = "constraints"
	argHashes      = "hashes"
)

// provider decodes a provider block. valid reports whether the block has no problems.
func (r *reading) provider(b *hclsyntax.Block) (s Selection, valid bool) {
	before := len(r.problems)
	label := b.Labels[0]
	address, err := provider.ParseAddress(label)
	switch {
	case err != nil:
		r.fail(b.LabelRanges[0], "%v", err)
	case address.String() != label:
		r.fail(b.LabelRanges[0], "the provider address must be written in full and in normalized form: %q", address)
	default:
		s.Address = address
	}
	for _, inner := range b.Body.Blocks {
		r.fail(inner.TypeRange, "blocks of type %q are not expected in a provider block", inner.Type)
	}
	for name, a := range b.Body.Attributes {
		switch name {
		case argVersion:
			s.Version = r.version(a.Expr)
		case argConstraints:
			s.Constraints = r.constraints(a.Expr)
		case argHashes:
			s.Hashes = r.hashes(a.Expr)
		default:
			r.fail(a.NameRange, "an argument named %q is not expected in a provider block", name)
		}
	}
	if b.Body.Attributes[argVersion] == nil {
		r.fail(b.TypeRange, "the argument \"version\" is required")
	}
	added := len(r.problems) - before
	r.inBlocks += added
	return s, added == 0
}

func (r *reading) version(expr hclsyntax.Expression) provider.Version {
	text, ok := r.text(expr)
	if !ok {
		return provider.Version{}
	}
	v, err := provider.ParseVersion(text)
	switch {
	case err != nil:
		r.fail(expr.Range(), "%v", err)
	case v.String() != text:
		r.fail(expr.Range(), "the version must be written in normalized form: %q", v)
	}
	return v
}

func (r *reading) constraints(expr hclsyntax.Expression) provider.Constraint {
	text, ok := r.text(expr)
	if !ok || text == "" {
		return provider.Constraint{}
	}
	c, err := provider.ParseConstraint(text)
	if err != nil {
		r.fail(expr.Range(), "%v", err)
	} else if normal := FormatConstraints(c); normal != text {
		r.fail(expr.Range(), "the constraints must be written in normalized form: %q", normal)
	}
	return c
}

func (r *reading) hashes(expr hclsyntax.Expression) []Hash {
	elements, diags := hcl.ExprList(expr)
	if diags.HasErrors() {
		r.diagnose(diags)
		return nil
	}
	if len(elements) == 0 {
		r.fail(expr.Range(), "the list of hashes must not be empty; omit the argument instead")
	}
	var all []Hash
	for _, element := range elements {
		text, ok := r.text(element)
		if !ok {
			continue
		}
		h, err := ParseHash(text)
		if err != nil {
			r.fail(element.Range(), "%v", err)
			continue
		}
		all = append(all, h)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// text returns the string value of an expression. As in OpenTofu, numbers are converted
// to strings. Expressions with loops are rejected, because nested loops could run
// forever.
func (r *reading) text(expr hcl.Expression) (string, bool) {
	if native, ok := expr.(hclsyntax.Expression); ok && loops(native) {
		r.fail(expr.Range(), "loops are not supported in lock files")
		return "", false
	}
	v, diags := expr.Value(nil)
	if diags.HasErrors() {
		r.diagnose(diags)
		return "", false
	}
	v, err := convert.Convert(v, cty.String)
	if err != nil || v.IsNull() || !v.IsKnown() {
		r.fail(expr.Range(), "expected a quoted string")
		return "", false
	}
	return v.AsString(), true
}

func loops(expr hclsyntax.Expression) (found bool) {
	_ = hclsyntax.VisitAll(expr, func(n hclsyntax.Node) hcl.Diagnostics {
		switch n.(type) {
		case *hclsyntax.ForExpr, *hclsyntax.SplatExpr:
			found = true
		}
		return nil
	})
	return found
}
