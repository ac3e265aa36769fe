package provider

import (
	"errors"
	"fmt"
	"strings"
)

// Requirement is a provider with a version constraint. The command line's PROVIDER
// argument is a Requirement.
type Requirement struct {
	Address    Address
	Constraint Constraint
}

// latest is the word that other programs use for the newest version. It is equivalent
// to no constraint.
const latest = "latest"

// ParseRequirement parses "[HOST/]NAMESPACE/TYPE[@CONSTRAINT]". "@latest" means no
// constraint. Errors are of type *[SyntaxError], with offsets into s.
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

// within converts a syntax error in a part of a string to a syntax error in the
// complete string.
func within(whole string, offset int, err error) error {
	if e, ok := errors.AsType[*SyntaxError](err); ok {
		return &SyntaxError{What: e.What, Input: whole, Offset: offset + e.Offset, Problem: e.Problem}
	}
	return err
}

// String returns the form that [ParseRequirement] parses.
func (r Requirement) String() string {
	if r.Constraint.IsZero() {
		return r.Address.String()
	}
	return r.Address.String() + "@" + r.Constraint.String()
}

// Select returns the newest n versions that meet the requirement, newest first. If n is
// 0, it returns all matching versions. If no version matches, the error is a
// *[VersionError].
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

// PreReleases returns, newest first, the pre-releases that do not meet the requirement
// although their final releases would. For example, 4.0.0-beta1 does not meet ">=
// 3.0.0". If the constraint is an exact version, PreReleases returns nil.
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

// SomeVersions describes the existing versions for error messages. It lists only the
// newest versions.
func SomeVersions(versions []Version) string {
	newest := NewestFirst(versions)
	if len(newest) == 0 {
		return "no versions exist"
	}
	some := join(newest[:min(maxSomeVersions, len(newest))])
	if len(newest) > maxSomeVersions {
		return fmt.Sprintf("newest of %d versions: %s", len(newest), some)
	}
	return "existing versions: " + some
}
