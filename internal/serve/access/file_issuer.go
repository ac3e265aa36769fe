package access

import (
	"errors"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"github.com/tofu-oci/tofu-oci/internal/stricthcl"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/template"
)

func (r *reader) oidc(block *hclsyntax.Block) (err error) {
	var i issuer
	if i.name, err = r.name(block); err != nil {
		return err
	}
	err = r.arguments(block,
		required("issuer", textInto(&i.url, parseIssuer)),
		required("audience", textInto(&i.audience, notEmpty)))
	if err != nil {
		return err
	}
	if err := r.once("the issuer "+i.url, block.Body.Attributes["issuer"].Expr.Range()); err != nil {
		return err
	}
	for _, inner := range block.Body.Blocks {
		if inner.Type != "allow" || len(inner.Labels) > 0 {
			return stricthcl.Wrong(inner.TypeRange, "an oidc block has only blocks allow { … } in it")
		}
		a, err := r.allow(inner)
		if err != nil {
			return err
		}
		if err := checkPublic(i.url, a); err != nil {
			return stricthcl.Wrong(inner.Body.Attributes["claims"].Expr.Range(), "%v", err)
		}
		i.allow = append(i.allow, a)
	}
	if len(i.allow) == 0 {
		return stricthcl.Wrong(block.TypeRange, "the block has no allow block, so nobody would be let in")
	}
	r.rules.issuers = append(r.rules.issuers, i)
	return nil
}

func notEmpty(text string) (string, error) {
	if text == "" {
		return "", errors.New("it must not be empty")
	}
	return text, nil
}

func (r *reader) allow(block *hclsyntax.Block) (allow, error) {
	var a allow
	err := r.arguments(block,
		required("claims", func(attribute *hclsyntax.Attribute) error { return readClaims(attribute, &a) }),
		required("providers", patternsInto(&a.may)))
	return a, err
}

// readClaims reads an object of strings, and of lists of strings.
func readClaims(attribute *hclsyntax.Attribute, a *allow) error {
	object, ok := attribute.Expr.(*hclsyntax.ObjectConsExpr)
	if !ok || len(object.Items) == 0 {
		return stricthcl.Wrong(attribute.Expr.Range(), "claims must be { NAME = \"VALUE\", … }, and not empty")
	}
	seen := map[string]bool{}
	for _, item := range object.Items {
		at := item.KeyExpr.Range()
		key, diags := item.KeyExpr.Value(nil)
		if diags.HasErrors() || key.IsNull() || key.Type() != cty.String {
			return stricthcl.Wrong(at, "a claim's name must be a string")
		}
		c := claim{name: key.AsString()}
		if seen[c.name] {
			return stricthcl.Wrong(at, "the claim %s is there twice", c.name)
		}
		seen[c.name] = true
		if err := readValues(item.ValueExpr, &c); err != nil {
			return err
		}
		a.claims = append(a.claims, c)
	}
	return nil
}

func readValues(expr hclsyntax.Expression, c *claim) error {
	add := func(text string, at hcl.Range) error {
		if err := parseValue(text); err != nil {
			return stricthcl.Wrong(at, "%v", err)
		}
		c.values = append(c.values, text)
		return nil
	}
	value := &hclsyntax.Attribute{Name: c.name, Expr: expr}
	if _, isList := expr.(*hclsyntax.TupleConsExpr); isList {
		return stricthcl.Strings(value, "a value", add)
	}
	text, err := stricthcl.String(value)
	if err != nil {
		return stricthcl.Wrong(expr.Range(), "the value of %s must be a string, or a list of strings", c.name)
	}
	return add(text, expr.Range())
}

func (r *reader) host(block *hclsyntax.Block) (err error) {
	if len(block.Labels) != 1 {
		return stricthcl.Wrong(block.TypeRange, "a host block has one label, the host's name: host \"HOST\" { … }")
	}
	var h Host
	if h.Name, err = provider.ParseHost(block.Labels[0]); err != nil {
		return stricthcl.Wrong(block.LabelRanges[0], "%v", err)
	}
	if err := r.once("the host "+h.Name.ForDisplay(), block.LabelRanges[0]); err != nil {
		return err
	}
	h.As = h.Name
	as := required("as", textInto(&h.As, provider.ParseHost))
	as.optional = true
	err = r.arguments(block, required("repository", textInto(&h.Repository, template.Parse)), as)
	r.rules.Hosts = append(r.rules.Hosts, h)
	return err
}
