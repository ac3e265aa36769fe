package provider

import "strings"

// Alias declares that releases which are stored as one provider's may be taken
// for another's. OpenTofu's registry and HashiCorp's have different bytes, signed
// by different keys, under equal names, so nothing is taken for something else
// unless somebody says so.
type Alias struct {
	// Asked matches the address that is asked for, Stored the one that the
	// release is stored as.
	Asked, Stored Pattern
}

// ParseAlias reads "ASKED=STORED", two patterns. Errors are *[SyntaxError] that
// point into s. Patterns of two types are one: another type is another program.
func ParseAlias(s string) (Alias, error) {
	asked, stored, found := strings.Cut(s, "=")
	if !found {
		return Alias{}, &SyntaxError{What: "alias", Input: s, Offset: len(s), Problem: "must be ASKED=STORED, two addresses or patterns"}
	}
	var x Alias
	var err error
	if x.Asked, err = ParsePattern(asked); err != nil {
		return Alias{}, within(s, 0, err)
	}
	if x.Stored, err = ParsePattern(stored); err != nil {
		return Alias{}, within(s, len(asked)+1, err)
	}
	if x.Asked.typ != wildcard && x.Stored.typ != wildcard && x.Asked.typ != x.Stored.typ {
		return Alias{}, &SyntaxError{What: "alias", Input: s, Offset: len(asked) + 1, Problem: "both types must be the same; only host and namespace may differ"}
	}
	return x, nil
}

// String returns the form that [ParseAlias] reads.
func (x Alias) String() string { return x.Asked.String() + "=" + x.Stored.String() }

// allows reports whether the alias is for these two. What both patterns leave open
// has to be the same.
func (x Alias) allows(asked, stored Address) bool {
	open := func(p, q string) bool { return p == wildcard && q == wildcard }
	return x.Asked.Match(asked) && x.Stored.Match(stored) &&
		(!open(x.Asked.host, x.Stored.host) || asked.Host == stored.Host) &&
		(!open(x.Asked.namespace, x.Stored.namespace) || asked.Namespace == stored.Namespace)
}

// Aliases are all that somebody has declared. None is what nobody has.
type Aliases []Alias

// Allow reports whether a release that is stored as one provider's may be taken for
// another's: the two are equal, or they have the same type and an alias is for
// them.
func (as Aliases) Allow(asked, stored Address) bool {
	if asked == stored {
		return true
	}
	if asked.Type != stored.Type {
		return false
	}
	for _, x := range as {
		if x.allows(asked, stored) {
			return true
		}
	}
	return false
}
