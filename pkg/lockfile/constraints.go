package lockfile

import (
	"cmp"
	"slices"
	"strings"

	"github.com/apparentlymart/go-versions/versions"
	"github.com/apparentlymart/go-versions/versions/constraints"

	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// operators maps operators to OpenTofu's notation. An exact version has no operator.
var operators = map[constraints.SelectionOp]string{
	constraints.OpGreaterThan:                 "> ",
	constraints.OpGreaterThanOrEqual:          ">= ",
	constraints.OpGreaterThanOrEqualPatchOnly: "~> ",
	constraints.OpGreaterThanOrEqualMinorOnly: "~> ",
	constraints.OpLessThanOrEqual:             "<= ",
	constraints.OpLessThan:                    "< ",
	constraints.OpNotEqual:                    "!= ",
}

// operatorOrder is the order of operators in constraints with the same version.
var operatorOrder = []constraints.SelectionOp{
	constraints.OpGreaterThan, constraints.OpGreaterThanOrEqual, constraints.OpEqual, constraints.OpGreaterThanOrEqualPatchOnly,
	constraints.OpGreaterThanOrEqualMinorOnly, constraints.OpLessThanOrEqual, constraints.OpLessThan, constraints.OpNotEqual,
}

// FormatConstraints returns the normal form of a constraint, which is the only form
// that OpenTofu accepts in a lock file. The normal form has no duplicates, contains 0
// for missing numbers, and is sorted by version and operator. For the zero value,
// FormatConstraints returns "".
func FormatConstraints(c provider.Constraint) string {
	parts, err := constraints.ParseRubyStyleMulti(c.String())
	if err != nil { // impossible, because the same library parsed the constraint
		return c.String()
	}
	for i := range parts {
		parts[i].Boundary = parts[i].Boundary.ConstrainToZero()
	}
	slices.SortFunc(parts, compareConstraints)
	var texts []string
	for _, part := range slices.Compact(parts) {
		texts = append(texts, formatConstraint(part))
	}
	return strings.Join(texts, ", ")
}

func compareConstraints(a, b constraints.SelectionSpec) int {
	v, w := boundary(a), boundary(b)
	switch {
	case v.LessThan(w):
		return -1
	case w.LessThan(v):
		return 1
	case v.Metadata.LessThan(w.Metadata):
		return -1
	case w.Metadata.LessThan(v.Metadata):
		return 1
	}
	return cmp.Or(
		cmp.Compare(slices.Index(operatorOrder, a.Operator), slices.Index(operatorOrder, b.Operator)),
		// Equal numbers can be written differently, such as 1.0.0-1 and 1.0.0-01.
		cmp.Compare(a.Boundary.Prerelease, b.Boundary.Prerelease),
		cmp.Compare(a.Boundary.Metadata, b.Boundary.Metadata),
	)
}

func boundary(s constraints.SelectionSpec) versions.Version {
	b := s.Boundary
	return versions.Version{
		Major: b.Major.Num, Minor: b.Minor.Num, Patch: b.Patch.Num,
		Prerelease: versions.VersionExtra(b.Prerelease), Metadata: versions.VersionExtra(b.Metadata),
	}
}

func formatConstraint(s constraints.SelectionSpec) string {
	b := s.Boundary
	text := operators[s.Operator] + b.Major.String() + "." + b.Minor.String()
	// "~> 1.2" and "~> 1.2.0" have different meanings.
	if s.Operator != constraints.OpGreaterThanOrEqualMinorOnly {
		text += "." + b.Patch.String()
	}
	if b.Prerelease != "" {
		text += "-" + b.Prerelease
	}
	if b.Metadata != "" {
		text += "+" + b.Metadata
	}
	return text
}
