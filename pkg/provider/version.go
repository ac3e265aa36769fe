package provider

import (
	"cmp"
	"slices"
	"strings"

	"github.com/apparentlymart/go-versions/versions"
)

// maxVersionLength bounds what is read as a version; an OCI tag holds no more.
const maxVersionLength = 128

// Version is a provider's version with the meaning OpenTofu gives it (the same
// library reads it). Versions are comparable by ==.
type Version struct {
	v versions.Version
}

// ParseVersion reads a version as OpenTofu does: "1.2.3", "1.2.3-beta1+meta";
// missing numbers are zero, a "v" in front is an error. Errors are *[SyntaxError].
func ParseVersion(s string) (Version, error) {
	fail := func(offset int, problem string) (Version, error) {
		return Version{}, &SyntaxError{What: "version", Input: s, Offset: offset, Problem: problem}
	}
	if len(s) > maxVersionLength {
		return fail(maxVersionLength, "is too long")
	}
	if at := hugeNumber(s); at >= 0 {
		return fail(at, "the number is too large")
	}
	v, err := versions.ParseVersion(s)
	if err != nil {
		return fail(0, err.Error())
	}
	if len(v.String()) > maxVersionLength { // missing numbers are written out
		return fail(0, "is too long")
	}
	return Version{v}, nil
}

// hugeNumber finds a number of more digits than 64 bits hold, on which the
// versions library panics; -1 when there is none. What stands behind "-" or "+"
// is text to the library, however long.
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

// String returns the canonical form, with all three numbers.
func (v Version) String() string { return v.v.String() }

// MarshalText returns the text of String.
func (v Version) MarshalText() ([]byte, error) { return []byte(v.String()), nil }

// Prerelease reports whether the version is a pre-release.
func (v Version) Prerelease() bool { return v.v.Prerelease != "" }

// released is the version that a pre-release comes before.
func (v Version) released() Version {
	v.v.Prerelease, v.v.Metadata = "", ""
	return v
}

// Constraint returns the one that only this version meets.
func (v Version) Constraint() Constraint {
	c, _ := ParseConstraint(v.String()) // every version is one
	return c
}

// Compare orders versions by precedence, and those of equal precedence by their
// build metadata, so that sorting is deterministic.
func (v Version) Compare(w Version) int {
	switch {
	case v.v.LessThan(w.v):
		return -1
	case w.v.LessThan(v.v):
		return 1
	}
	return cmp.Compare(v.v.Metadata, w.v.Metadata)
}

// NewestFirst returns the versions in the order in which a [Source] lists them,
// each once.
func NewestFirst(vs []Version) []Version {
	return slices.Compact(sorted(vs, func(a, b Version) int { return b.Compare(a) }))
}

// Constraint is what a version has to meet, in OpenTofu's notation:
// "~> 5.0, != 5.10.0". The zero value is met by every release but 0.0.0, and by no
// pre-release.
type Constraint struct {
	text string
	set  versions.Set
}

// ParseConstraint reads constraints that commas separate. A pre-release meets
// them only when it is named exactly. Errors are *[SyntaxError].
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
		if at := hugeNumber(text); at >= 0 {
			return fail(start+at, "the number is too large")
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

// IsZero reports whether nothing was constrained.
func (c Constraint) IsZero() bool { return c.text == "" }

// String returns the constraints separated by ", ".
func (c Constraint) String() string { return c.text }

// And returns the constraint that is met by what meets both. The error is that of
// [ParseConstraint].
func (c Constraint) And(d Constraint) (Constraint, error) {
	switch {
	case c.IsZero():
		return d, nil
	case d.IsZero():
		return c, nil
	}
	return ParseConstraint(c.text + ", " + d.text)
}

// Allows reports whether v meets the constraint. Version 0.0.0, which build tools
// write when they know none, meets only the one that names it; to OpenTofu it is
// no version at all.
func (c Constraint) Allows(v Version) bool {
	if v == (Version{}) {
		exact, ok := c.Exact()
		return ok && exact == v
	}
	if c.IsZero() {
		return !v.Prerelease()
	}
	return c.set.Has(v.v)
}

// Exact returns the only version that the constraint can mean, when it is
// written as one: "5.64.0" or "= 5.64.0".
func (c Constraint) Exact() (Version, bool) {
	text := strings.TrimSpace(strings.TrimPrefix(c.text, "="))
	v, err := ParseVersion(text)
	return v, err == nil && v.String() == text
}
