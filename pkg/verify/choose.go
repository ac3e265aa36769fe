package verify

import (
	"errors"
	"slices"

	"github.com/tofu-oci/tofu-oci/internal/doctor"
	"github.com/tofu-oci/tofu-oci/pkg/artifact"
	"github.com/tofu-oci/tofu-oci/pkg/finding"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/template"
)

// choice is a version that is looked at, and the first requirement that means it.
type choice struct {
	provider.Requirement
	version provider.Version
}

// choose gives the versions among the tags that requirements mean, newest first. Those
// that mean none are failures of the report, and the pre-releases that none means are
// left out.
func (r *Report) choose(tags []string, wanted []provider.Requirement, newest int) []choice {
	var chosen []choice
	has := func(v provider.Version) bool {
		return slices.ContainsFunc(chosen, func(c choice) bool { return c.version == v })
	}
	for _, w := range wanted {
		versions, leftOut, err := meant(tags, w, newest)
		if err != nil {
			r.Failed = append(r.Failed, Failure{Wanted: w, Err: err})
		}
		r.LeftOut = append(r.LeftOut, leftOut...)
		for _, v := range versions {
			if !has(v) {
				chosen = append(chosen, choice{w, v})
			}
		}
	}
	r.LeftOut = slices.DeleteFunc(provider.NewestFirst(r.LeftOut), has)
	slices.SortFunc(chosen, func(a, b choice) int { return b.version.Compare(a.version) })
	return chosen
}

// meant gives the versions among the tags that a requirement means, and the
// pre-releases that it leaves out where all are meant.
func meant(tags []string, wanted provider.Requirement, newest int) (versions, leftOut []provider.Version, err error) {
	there := artifact.TaggedVersions(tags)
	if exact, isExact := wanted.Constraint.Exact(); isExact && slices.Contains(there, exact) {
		return []provider.Version{exact}, nil, nil // a pre-release too
	}
	if newest == 0 {
		leftOut = wanted.PreReleases(there)
	}
	versions, err = wanted.Select(there, newest)
	if missing, ok := errors.AsType[*provider.VersionError](err); ok {
		missing.Pending = slices.DeleteFunc(artifact.UndecidedVersions(tags), func(v provider.Version) bool { return !wanted.Constraint.Allows(v) })
	}
	return versions, leftOut, err
}

// tags adds what misleads OpenTofu about the tags, each once: an error where it is one
// for any of the requirements.
func (r *Report) tags(tags []string, wanted []provider.Requirement, to template.Template) {
	var all []finding.Finding
	for _, w := range wanted {
		for _, f := range doctor.CheckTags(tags, w, to) {
			i := slices.IndexFunc(all, func(known finding.Finding) bool { return known.Message == f.Message })
			switch {
			case i < 0:
				f.Subject.Provider = w.Address.String()
				all = append(all, f)
			case f.Severity == finding.Error:
				all[i].Severity = f.Severity
			}
		}
	}
	for _, f := range all {
		r.add(f)
	}
}
