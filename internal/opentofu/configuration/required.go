package configuration

import (
	"regexp"
	"strings"

	"github.com/hashicorp/hcl/v2"
	tfaddr "github.com/hashicorp/terraform-registry-address"

	"github.com/tofu-oci/tofu-oci/internal/stricthcl"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// maxConstraint limits the length of a version constraint, because each of its parts is
// evaluated for every version.
const maxConstraint = 1024

// entry is the entry for a provider in required_providers.
type entry struct {
	// address is the zero value for a built-in provider.
	address    provider.Address
	constraint provider.Constraint
	at         stricthcl.Position
}

// requirements reads a required_providers block. It reports and skips invalid entries.
func (r *reader) requirements(block *hcl.Block) map[string]entry {
	attrs, found := block.Body.JustAttributes()
	if r.diagnostics(block.DefRange.Filename, found) {
		return nil
	}
	entries := map[string]entry{}
	for name, attr := range attrs {
		before := len(r.all)
		if e := r.entry(name, attr); len(r.all) == before {
			entries[name] = e
		}
	}
	return entries
}

// entry reads a provider's entry. As in old configurations, a string or number is the
// version. All other values must be objects.
func (r *reader) entry(name string, attr *hcl.Attribute) entry {
	e := entry{at: stricthcl.PositionOf(attr.NameRange)}
	if text, ok := primitive(attr.Expr); ok {
		e.address = r.implied(name, e.at)
		e.constraint = r.constraint(text, stricthcl.PositionOf(attr.Expr.Range()))
		return e
	}
	if !r.localName(name, e.at) {
		return e
	}
	pairs, found := hcl.ExprMap(attr.Expr)
	if found.HasErrors() {
		r.add(e.at, "the entry %q in required_providers must be a string or an object", name)
		return e
	}
	sourced := false
	for _, pair := range pairs {
		at := stricthcl.PositionOf(pair.Value.Range())
		switch key, _ := literal(pair.Key); key {
		case "version":
			if text, ok := r.text(pair.Value, "version"); ok {
				e.constraint = r.constraint(text, at)
			}
		case "source":
			if text, ok := r.text(pair.Value, "source"); ok {
				e.address, sourced = r.source(text, at), true
			}
		case "configuration_aliases":
			r.aliases(name, pair.Value)
		default:
			r.add(stricthcl.PositionOf(pair.Key.Range()), `the entry %q in required_providers can have only "version", "source", and "configuration_aliases"`, name)
			return e
		}
	}
	if !sourced {
		e.address = r.implied(name, e.at)
	}
	return e
}

// aliases validates configuration_aliases. The aliases are otherwise ignored.
func (r *reader) aliases(name string, value hcl.Expression) {
	list, found := hcl.ExprList(value)
	if r.diagnostics("", found) {
		return
	}
	for _, e := range list {
		steps, found := hcl.AbsTraversalForExpr(e)
		if r.diagnostics("", found) {
			continue
		}
		if named := referenceNames(e); steps.RootName() != name || len(named) < len(steps) {
			r.add(stricthcl.PositionOf(e.Range()), "a configuration alias must have the form %s.NAME", name)
		}
	}
}

// source parses a provider's address. It returns the zero value for a built-in
// provider.
func (r *reader) source(text string, at stricthcl.Position) provider.Address {
	parts := strings.Split(text, "/")
	switch {
	case len(parts) == 1:
		return r.address(at, r.host(), "hashicorp", text)
	case len(parts) == 2:
		return r.address(at, r.host(), text)
	case len(parts) == 3 && strings.EqualFold(parts[0], tfaddr.BuiltInProviderHost.String()) && strings.EqualFold(parts[1], tfaddr.BuiltInProviderNamespace):
		return provider.Address{}
	}
	return r.address(at, text)
}

// implied returns the provider for a local name that has no entry.
func (r *reader) implied(name string, at stricthcl.Position) provider.Address {
	if name == "terraform" {
		return provider.Address{}
	}
	return r.address(at, r.host(), "hashicorp", name)
}

func (r *reader) address(at stricthcl.Position, parts ...string) provider.Address {
	a, err := provider.ParseAddress(strings.Join(parts, "/"))
	if err != nil {
		r.add(at, "%w", err)
	}
	return a
}

// host returns the default host of provider addresses.
func (r *reader) host() string {
	if r.options.Terraform {
		return tfaddr.DefaultProviderRegistryHost.String()
	}
	return provider.DefaultHost.String()
}

// localName validates a provider's local name.
func (r *reader) localName(name string, at stricthcl.Position) bool {
	normal, err := tfaddr.ParseProviderPart(name)
	switch {
	case err != nil:
		r.add(at, "invalid provider name %q: %w", name, err)
	case normal != name:
		r.add(at, "provider names must be lower-case: want %q, got %q", normal, name)
	}
	return err == nil && normal == name
}

// constraint parses a version constraint.
func (r *reader) constraint(text string, at stricthcl.Position) provider.Constraint {
	if len(text) > maxConstraint {
		r.add(at, "the version constraint exceeds %d bytes", maxConstraint)
		return provider.Constraint{}
	}
	c, err := provider.ParseConstraint(text)
	if err != nil {
		r.add(at, "%w", err)
		return c
	}
	for part := range strings.SplitSeq(text, ",") {
		if !constraintForm.MatchString(part) {
			r.add(at, "invalid version constraint %q: %q is not a constraint", text, strings.TrimSpace(part))
			return provider.Constraint{}
		}
	}
	return c
}

// constraintForm matches the syntax of the first parser that OpenTofu uses for
// constraints. OpenTofu uses two parsers, and [provider.ParseConstraint] implements the
// second parser.
var constraintForm = regexp.MustCompile(`^\s*(=|!=|>|<|>=|<=|~>)?\s*[0-9]+(\.[0-9]+)*(-[0-9A-Za-z.~-]*)?(\+[0-9A-Za-z.~-]+)?\s*$`)

// text returns the value of an expression, which must be a string without references.
func (r *reader) text(e hcl.Expression, name string) (string, bool) {
	text, ok := literal(e)
	if !ok {
		r.add(stricthcl.PositionOf(e.Range()), "the %s must be a quoted string, not an expression", name)
	}
	return text, ok
}
