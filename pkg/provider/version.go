package provider

import (
	"cmp"
	"slices"
	"strings"

	"github.com/apparentlymart/go-versions/versions"
)

// maxVersionLength is the maximum length of a version. It equals the maximum length of
// an OCI tag.
const maxVersionLength = 128

// Version is a provider version. OpenTofu parses versions with the same library.
// Versions are comparable using ==.
type Version struct {
	v versions.Version
}

// ParseVersion parses a version, such as "1.2.3" or "1.2.3-beta1+meta", as OpenTofu
// does. Missing numbers are zero, and a leading "v" is not allowed. Errors are of type
// *[SyntaxError].
func ParseVersion(s string) (Version, error) {
	fail := func(offset int, problem string) (Version, error) {
		return Version{}, &SyntaxError{What: "version", Input: s, Offset: offset, Problem: problem}
	}
	if len(s) > maxVersionLength {
		return fail(maxVersionLength, "is too long")
	}
	if i := hugeNumber(s); i >= 0 {
		return fail(i, "the number is too large")
	}
	v, err := versions.ParseVersion(s)
	if err != nil {
		return fail(0, err.Error())
	}
	if len(v.String()) > maxVersionLength { // String adds missing numbers
		return fail(0, "is too long")
	}
	return Version{v}, nil
}

// hugeNumber returns the offset of a number that has more than 18 digits, or -1. Such a
// number might not fit in 64 bits, which makes the versions library panic. Everything
// after "-" or "+" is text of any length.
func hugeNumber(s string) int {
	first := max(strings.IndexAny(s, "0123456789"), 0)
	digits := 0
	for i := first; i < len(s) && s[i] != '-' && s[i] != '+'; i++ {
		if s[i] < '0' || s[i] > '9' {
			digits = 0
			continue
		}
		if digits++; digits > 18 {
			return i - digits + 1
		}
	}
	return -1
}

// String returns the canonical form with all three numbers.
func (v Version) String() string { return v.v.String() }

// MarshalText returns the same text as String.
func (v Version) MarshalText() ([]byte, error) { return []byte(v.String()), nil }

// Prerelease reports whether the version is a pre-release.
func (v Version) Prerelease() bool { return v.v.Prerelease != "" }

// released returns the final release of a pre-release, such as 4.0.0 for 4.0.0-beta1.
func (v Version) released() Version {
	v.v.Prerelease, v.v.Metadata = "", ""
	return v
}

// Constraint returns a constraint that only this version meets.
func (v Version) Constraint() Constraint {
	c, _ := ParseConstraint(v.String()) // never fails for a version
	return c
}

// Compare orders versions by precedence. Versions with the same precedence are ordered by
// build metadata to make sorting deterministic.
func (v Version) Compare(w Version) int {
	switch {
	case v.v.LessThan(w.v):
		return -1
	case w.v.LessThan(v.v):
		return 1
	}
	return cmp.Compare(v.v.Metadata, w.v.Metadata)
}

// NewestFirst returns the versions, newest first and without duplicates.
func NewestFirst(vs []Version) []Version {
	return slices.Compact(sorted(vs, func(a, b Version) int { return b.Compare(a) }))
}

// Constraint is a version constraint in OpenTofu's notation, such as "~> 5.0, !=
// 5.10.0". All versions except pre-releases and 0.0.0 meet the zero value.
type Constraint struct {
	text string
	set  versions.Set
	// If module is not nil, this is the constraint of a module, and set is unused.
	module *moduleRules
}

// ParseConstraint parses the constraints of a provider, separated by commas. A
// pre-release meets a constraint only if the constraint specifies exactly this version.
// Errors are of type *[SyntaxError].
func ParseConstraint(s string) (Constraint, error) {
	fail := func(offset int, problem string) (Constraint, error) {
		return Constraint{}, &SyntaxError{What: "version constraint", Input: s, Offset: offset, Problem: problem}
	}
	var texts []string
	offset := 0
	for part := range strings.SplitSeq(s, ",") {
		text := strings.TrimSpace(part)
		start := offset + strings.Index(part, text)
		offset += len(part) + 1
		if text == "" {
			return fail(start, "a constraint is empty")
		}
		if i := hugeNumber(text); i >= 0 {
			return fail(start+i, "the number is too large")
		}
		if _, err := versions.MeetingConstraintsStringRuby(text); err != nil {
			return fail(start, constraintProblem(text, err))
		}
		texts = append(texts, text)
	}
	text := strings.Join(texts, ", ")
	set, err := versions.MeetingConstraintsStringRuby(text)
	if err != nil {
		return fail(0, err.Error())
	}
	return Constraint{text: text, set: set}, nil
}

// ExactConstraint returns the constraint that only v meets.
func ExactConstraint(v Version) Constraint {
	return Constraint{text: v.String(), set: versions.Only(v.v)}
}

// IsZero reports whether the constraint is the zero value.
func (c Constraint) IsZero() bool { return c.text == "" }

// String returns the constraints, separated by ", ".
func (c Constraint) String() string { return c.text }

// And returns the constraint that requires both c and d. It returns the same errors as
// [ParseConstraint].
func (c Constraint) And(d Constraint) (Constraint, error) {
	switch isModule := c.module != nil || d.module != nil; {
	case isModule && (c.IsZero() || d.IsZero()):
		return ParseModuleConstraint(c.text + d.text)
	case isModule:
		return ParseModuleConstraint(c.text + ", " + d.text)
	case c.IsZero():
		return d, nil
	case d.IsZero():
		return c, nil
	}
	return ParseConstraint(c.text + ", " + d.text)
}

// Allows reports whether v meets the constraint. Build tools write version 0.0.0 if
// they don't know the version, so 0.0.0 meets only a constraint that specifies it
// exactly. OpenTofu does not treat 0.0.0 as a version of a provider.
func (c Constraint) Allows(v Version) bool {
	if c.module != nil {
		return c.module.allows(v)
	}
	if v == (Version{}) {
		exact, ok := c.Exact()
		return ok && exact == v
	}
	if c.IsZero() {
		return !v.Prerelease()
	}
	return c.set.Has(v.v)
}

// Exact returns the version of a constraint that is written as a version, such as
// "5.64.0" or "= 5.64.0". For other constraints, it returns false.
func (c Constraint) Exact() (Version, bool) {
	text := strings.TrimSpace(strings.TrimPrefix(c.text, "="))
	if c.module != nil {
		text = strings.TrimPrefix(text, "v")
	}
	v, err := ParseVersion(text)
	return v, err == nil && v.String() == text
}
