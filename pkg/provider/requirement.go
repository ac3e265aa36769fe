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

// String returns the form that [ParseRequirement] reads.
func (r Requirement) String() string {
	if r.Constraint.IsZero() {
		return r.Address.String()
	}
	return r.Address.String() + "@" + r.Constraint.String()
}

// Select returns the newest n versions that meet the requirement, newest first;
// n = 0 means all. None is a *[VersionError].
func (r Requirement) Select(versions []Version, n int) ([]Version, error) {
	var met []Version
	for _, v := range NewestFirst(versions) {
		if r.Constraint.Allows(v) && (n == 0 || len(met) < n) {
			met = append(met, v)
		}
	}
	if len(met) == 0 {
		return nil, &VersionError{Address: r.Address, Wanted: r.Constraint, Have: versions}
	}
	return met, nil
}

// PreReleases returns the pre-releases that do not meet the requirement, and whose
// releases do, newest first: 4.0.0-beta1 for ">= 3.0.0". Of a requirement that names one
// version there are none.
func (r Requirement) PreReleases(versions []Version) []Version {
	var left []Version
	if _, exact := r.Constraint.Exact(); exact {
		return nil
	}
	for _, v := range NewestFirst(versions) {
		if v.Prerelease() && !r.Constraint.Allows(v) && r.Constraint.Allows(v.released()) {
			left = append(left, v)
		}
	}
	return left
}

// maxSomeVersions is the maximum number of versions that [SomeVersions] lists.
const maxSomeVersions = 5

// SomeVersions says which versions there are, the newest few, for error texts.
func SomeVersions(versions []Version) string {
	const most = maxSomeVersions
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
