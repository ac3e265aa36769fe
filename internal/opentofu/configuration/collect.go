package configuration

import (
	"slices"
	"strings"

	"github.com/tofu-oci/tofu-oci/internal/stricthcl"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// maxConstraints bounds the parts of one provider's constraints.
const maxConstraints = 1000

// collection is what the modules require, by address.
type collection struct {
	origins map[provider.Address][]Origin
	// done has the directories that were taken.
	done map[string]bool
}

// collect takes what a module requires, each directory once.
func (w *walker) collect(m *module, dir string) {
	if w.found.done[dir] {
		return
	}
	w.found.done[dir] = true
	explicit := map[provider.Address]bool{}
	for _, e := range m.required {
		w.found.add(e.address, e.at, e.constraint)
		explicit[e.address] = true
	}
	blocks := []map[string]block{m.providers}
	for _, t := range m.tests {
		blocks = append(blocks, t.providers)
	}
	for _, providers := range blocks {
		for _, b := range providers {
			if a := w.meaning(m, b.use); !explicit[a] || !b.constraint.IsZero() {
				w.found.add(a, b.at, b.constraint)
			}
		}
	}
	w.found.uses(w.implicit(m, explicit))
}

// implicit gives the first place of a module that uses each provider which it
// does not declare.
func (w *walker) implicit(m *module, explicit map[provider.Address]bool) map[provider.Address]stricthcl.Position {
	first := map[provider.Address]stricthcl.Position{}
	uses := slices.Clone(m.imports)
	for _, u := range m.resources {
		uses = append(uses, u)
	}
	slices.SortFunc(uses, func(a, b use) int { return a.at.Compare(b.at) })
	for _, u := range uses {
		a := w.meaning(m, u)
		if _, known := first[a]; !known && !explicit[a] {
			first[a] = u.at
		}
	}
	return first
}

func (c *collection) uses(first map[provider.Address]stricthcl.Position) {
	for a, at := range first {
		c.add(a, at, provider.Constraint{})
	}
}

// meaning is the provider that a local name means in a module.
func (w *walker) meaning(m *module, u use) provider.Address {
	if e, ok := m.required[u.name]; ok {
		return e.address
	}
	if u.name == "" { // its problem was said
		return provider.Address{}
	}
	return w.implied(u.name, u.at)
}

// add notes that a place requires a provider. Those that are built in have no
// address and are left out.
func (c *collection) add(a provider.Address, at stricthcl.Position, constraint provider.Constraint) {
	if a != (provider.Address{}) {
		c.origins[a] = append(c.origins[a], Origin{at, constraint})
	}
}

// required gives all of it in order.
func (c *collection) required(p *problems) []Required {
	var all []Required
	for a, origins := range c.origins {
		slices.SortFunc(origins, func(a, b Origin) int { return a.Position.Compare(b.Position) })
		constraint := joined(p, a, origins)
		all = append(all, Required{provider.Requirement{Address: a, Constraint: constraint}, origins})
	}
	slices.SortFunc(all, func(a, b Required) int { return a.Requirement.Address.Compare(b.Requirement.Address) })
	return all
}

// joined puts the constraints of several places together, each part once.
func joined(p *problems, a provider.Address, origins []Origin) provider.Constraint {
	var parts []string
	seen := map[string]bool{}
	for _, o := range origins {
		for part := range strings.SplitSeq(o.Constraint.String(), ", ") {
			if part != "" && !seen[part] {
				seen[part] = true
				parts = append(parts, part)
			}
		}
	}
	if len(parts) > maxConstraints {
		p.add(origins[0].Position, "the constraints of %s have more than %d parts", a, maxConstraints)
		return provider.Constraint{}
	}
	if len(parts) == 0 {
		return provider.Constraint{}
	}
	c, err := provider.ParseConstraint(strings.Join(parts, ", "))
	if err != nil {
		p.add(origins[0].Position, "the constraints of %s together: %w", a, err)
	}
	return c
}
