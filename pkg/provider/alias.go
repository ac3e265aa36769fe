package provider

import "strings"

// Alias allows releases that are stored under one provider's address to be used for a
// different provider. The registries of OpenTofu and HashiCorp offer different
// packages, signed with different keys, under the same names. Therefore, substituting
// one registry's packages for the other's requires an explicit declaration.
type Alias struct {
	// Requested matches the requested address. Stored matches the address under which
	// the release is stored.
	Requested, Stored Pattern
}

// ParseAlias parses "REQUESTED=STORED". Both parts are patterns. Their types must be
// equal, because providers of different types are different programs. Either type can
// also be a wildcard. Errors are of type *[SyntaxError], with offsets into s.
func ParseAlias(s string) (Alias, error) {
	requested, stored, found := strings.Cut(s, "=")
	if !found {
		return Alias{}, &SyntaxError{What: "alias", Input: s, Offset: len(s), Problem: "must be REQUESTED=STORED, with two addresses or patterns"}
	}
	var x Alias
	var err error
	if x.Requested, err = ParsePattern(requested); err != nil {
		return Alias{}, within(s, 0, err)
	}
	if x.Stored, err = ParsePattern(stored); err != nil {
		return Alias{}, within(s, len(requested)+1, err)
	}
	if x.Requested.typ != wildcard && x.Stored.typ != wildcard && x.Requested.typ != x.Stored.typ {
		return Alias{}, &SyntaxError{What: "alias", Input: s, Offset: len(requested) + 1, Problem: "both types must be the same; only the host and namespace can differ"}
	}
	return x, nil
}

// String returns the form that [ParseAlias] parses.
func (x Alias) String() string { return x.Requested.String() + "=" + x.Stored.String() }

// allows reports whether the alias covers both addresses. If both patterns have a
// wildcard for the host or namespace, this part must be equal in both addresses.
func (x Alias) allows(requested, stored Address) bool {
	open := func(p, q string) bool { return p == wildcard && q == wildcard }
	return x.Requested.Match(requested) && x.Stored.Match(stored) &&
		(!open(x.Requested.host, x.Stored.host) || requested.Host == stored.Host) &&
		(!open(x.Requested.namespace, x.Stored.namespace) || requested.Namespace == stored.Namespace)
}

// Aliases lists all declared aliases. An empty list allows no substitution.
type Aliases []Alias

// Allow reports whether a release with the stored address can be used for the requested
// address. The addresses must be equal, or they must have the same type and an alias
// must cover both.
func (as Aliases) Allow(requested, stored Address) bool {
	if requested == stored {
		return true
	}
	if requested.Type != stored.Type {
		return false
	}
	for _, x := range as {
		if x.allows(requested, stored) {
			return true
		}
	}
	return false
}
