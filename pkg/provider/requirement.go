package provider

import (
	"errors"
	"fmt"
	"strings"
)

// Requirement is a provider, and what its versions have to meet. It is the
// PROVIDER of the command line.
type Requirement struct {
	Address    Address
	Constraint Constraint
}

// latest is what other programs call the newest version, which no constraint means.
const latest = "latest"

// ParseRequirement reads "[HOST/]NAMESPACE/TYPE[@CONSTRAINT]". "@latest" is no
// constraint. Errors are *[SyntaxError] that point into s.
func ParseRequirement(s string) (Requirement, error) {
	address, constraint, constrained := strings.Cut(s, "@")
	a, err := ParseAddress(address)
	if err != nil {
		return Requirement{}, within(s, 0, err)
	}
	r := Requirement{Address: a}
	if constrained && !strings.EqualFold(strings.TrimSpace(constraint), latest) {
		if r.Constraint, err = ParseConstraint(constraint); err != nil {
			return Requirement{}, within(s, len(address)+1, err)
		}
	}
	return r, nil
}

// within lets a syntax error in a part point into the whole text.
func within(whole string, offset int, err error) error {
	if e, ok := errors.AsType[*SyntaxError](err); ok {
		return &SyntaxError{What: e.What, Input: whole, Offset: offset + e.Offset, Problem: e.Problem}
	}
	return err
}

// String gives the form that [ParseRequirement] reads.
func (r Requirement) String() string {
	if r.Constraint.IsZero() {
		return r.Address.String()
	}
	return r.Address.String() + "@" + r.Constraint.String()
}

// Select gives the newest n versions that meet the requirement, newest first;
// n = 0 means all. None is an error, [ErrVersionNotFound], that says what there is.
func (r Requirement) Select(versions []Version, n int) ([]Version, error) {
	var met []Version
	for _, v := range NewestFirst(versions) {
		if r.Constraint.Allows(v) && (n == 0 || len(met) < n) {
			met = append(met, v)
		}
	}
	switch {
	case len(met) > 0:
		return met, nil
	case r.Constraint.IsZero():
		return nil, fmt.Errorf("%w: %s has no release (a pre-release has to be named exactly); %s", ErrVersionNotFound, r.Address, SomeVersions(versions))
	}
	return nil, fmt.Errorf("%w: no version of %s meets %q; %s", ErrVersionNotFound, r.Address, r.Constraint, SomeVersions(versions))
}

// SomeVersions says which versions there are, the newest few, for error texts.
func SomeVersions(versions []Version) string {
	const most = 5
	newest := NewestFirst(versions)
	if len(newest) == 0 {
		return "there are no versions at all"
	}
	some := join(newest[:min(most, len(newest))])
	if len(newest) > most {
		return fmt.Sprintf("the newest of %d versions are %s", len(newest), some)
	}
	return "there are " + some
}
