package provider

import (
	"regexp"
	"strings"

	"github.com/apparentlymart/go-versions/versions"
	goversion "github.com/hashicorp/go-version"
)

// moduleRules evaluates a constraint as OpenTofu does for modules. OpenTofu uses a
// different library for modules than for providers, so the same text can have a
// different meaning. For modules, "~> 1" has no upper limit.
type moduleRules struct {
	required goversion.Constraints
	// preReleases contains the pre-releases that meet the constraint. To find them,
	// OpenTofu parses the constraint again in npm's syntax, so the set is usually
	// empty.
	preReleases versions.Set
}

// ParseModuleConstraint parses the constraint of a module. Like OpenTofu, it allows
// versions such as v1.0 and 1.0.0.0. If s is empty, all versions except pre-releases
// meet the constraint. Errors are of type *[SyntaxError].
func ParseModuleConstraint(s string) (Constraint, error) {
	c := Constraint{module: &moduleRules{preReleases: versions.None}}
	if strings.TrimSpace(s) == "" {
		return c, nil
	}
	fail := func(problem string) (Constraint, error) {
		return Constraint{}, &SyntaxError{What: "version constraint", Input: s, Problem: problem}
	}
	if i := hugeNumber(s); i >= 0 {
		return fail("a number is too large")
	}
	var err error
	if c.module.required, err = goversion.NewConstraint(s); err != nil {
		return fail("want versions with the operators =, !=, >, >=, <, <=, and ~>, separated by commas")
	}
	var parts []string
	for _, part := range c.module.required {
		parts = append(parts, strings.TrimSpace(part.String()))
	}
	c.text = strings.Join(parts, ", ")
	withoutPrefix := versionPrefix.ReplaceAllString(c.module.required.String(), "$1")
	if set, err := versions.MeetingConstraintsString(withoutPrefix); err == nil {
		c.module.preReleases = set
	}
	return c, nil
}

// versionPrefix matches the start of versions such as v1.0.0.
var versionPrefix = regexp.MustCompile(`\bv(\d)`)

// ForModules returns the module constraint with the same text, or c if the text is
// invalid for modules.
func (c Constraint) ForModules() Constraint {
	if converted, err := ParseModuleConstraint(c.text); err == nil {
		return converted
	}
	return c
}

func (r *moduleRules) allows(v Version) bool {
	parsed, err := goversion.NewVersion(v.String())
	return err == nil && (!v.Prerelease() || r.preReleases.Has(v.v)) && r.required.Check(parsed)
}
