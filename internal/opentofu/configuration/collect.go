package configuration

import (
	"slices"
	"strings"

	"github.com/tofu-oci/tofu-oci/internal/stricthcl"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// maxConstraints limits the number of constraints on one provider.
const maxConstraints = 1000

// constraint is a version constraint with its position.
type constraint struct {
	provider.Constraint
	at stricthcl.Position
}

// collect adds the requirements of a module. It collects each directory only once.
func (w *walker) collect(m *module, dir string) {
	if w.collected[dir] {
		return
	}
	w.collected[dir] = true
	for _, e := range m.required {
		w.require(e.address, constraint{e.constraint, e.at})
	}
	blocks := []map[string]block{m.providers}
	for _, t := range m.tests {
		blocks = append(blocks, t.providers)
	}
	for _, providers := range blocks {
		for _, b := range providers {
			w.require(w.meaning(m, b.use), constraint{b.constraint, b.at})
		}
	}
	for _, u := range m.resources {
		w.require(w.meaning(m, u), constraint{})
	}
	for _, u := range m.imports {
		w.require(w.meaning(m, u), constraint{})
	}
}

// meaning returns the provider that a local name refers to in a module.
func (w *walker) meaning(m *module, u use) provider.Address {
	if e, ok := m.required[u.name]; ok {
		return e.address
	}
	if u.name == "" { // the problem has already been reported
		return provider.Address{}
	}
	return w.implied(u.name, u.at)
}

// require adds a requirement with an optional constraint. It skips built-in providers,
// which have no address.
func (w *walker) require(a provider.Address, c constraint) {
	if a == (provider.Address{}) {
		return
	}
	all := w.required[a]
	if !c.IsZero() {
		all = append(all, c)
	}
	w.required[a] = all
}

// requirements returns all requirements, sorted by address.
func (w *walker) requirements() []provider.Requirement {
	var all []provider.Requirement
	for a, constraints := range w.required {
		all = append(all, provider.Requirement{Address: a, Constraint: w.joined(a, constraints)})
	}
	slices.SortFunc(all, func(a, b provider.Requirement) int { return a.Address.Compare(b.Address) })
	return all
}

// joined merges the constraints on a provider into one, without duplicates.
func (w *walker) joined(a provider.Address, constraints []constraint) provider.Constraint {
	slices.SortFunc(constraints, func(a, b constraint) int { return a.at.Compare(b.at) })
	var parts []string
	seen := map[string]bool{}
	for _, c := range constraints {
		for part := range strings.SplitSeq(c.String(), ", ") {
			if !seen[part] {
				seen[part] = true
				parts = append(parts, part)
			}
		}
	}
	switch {
	case len(parts) == 0:
		return provider.Constraint{}
	case len(parts) > maxConstraints:
		w.add(constraints[0].at, "the constraints on %s have more than %d parts", a, maxConstraints)
		return provider.Constraint{}
	}
	c, err := provider.ParseConstraint(strings.Join(parts, ", "))
	if err != nil {
		w.add(constraints[0].at, "merging the constraints on %s: %w", a, err)
	}
	return c
}
