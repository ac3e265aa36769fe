package verify

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

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

// choose returns the versions among the tags that requirements mean, newest first. Those
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

// meant returns the versions among the tags that a requirement means, and the
// pre-releases that it leaves out where all are meant.
func meant(tags []string, wanted provider.Requirement, newest int) (versions, leftOut []provider.Version, err error) {
	there := artifact.Tags(tags).Tagged()
	if exact, isExact := wanted.Constraint.Exact(); isExact && slices.Contains(there, exact) {
		return []provider.Version{exact}, nil, nil // a pre-release too
	}
	if newest == 0 {
		leftOut = wanted.PreReleases(there)
	}
	versions, err = wanted.Select(there, newest)
	if missing, ok := errors.AsType[*provider.VersionError](err); ok {
		missing.Pending = slices.DeleteFunc(artifact.Tags(tags).Undecided(), func(v provider.Version) bool { return !wanted.Constraint.Allows(v) })
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

// compareVersions tells which versions the origin offers that the repository lacks. A
// version whose tag is gone leaves no other trace.
//
// What counts is what mirror would bring for the same requirements: all versions, or as
// many of the newest as are asked for. Whether one was there before nobody knows, so it
// is a warning, and one for all of them. The error is that of an origin that does not
// answer.
func (r *Report) compareVersions(ctx context.Context, tags []string, wanted []provider.Requirement, o Options) error {
	offered, err := o.Origin.Versions(ctx, wanted[0].Address)
	switch {
	case errors.Is(err, provider.ErrProviderNotFound) || errors.Is(err, provider.ErrVersionNotFound):
		return nil // each release says so
	case err != nil:
		return fmt.Errorf("asking the origin: %w", err)
	}
	lacking := lacking(tags, offered, wanted, o.Newest)
	if len(lacking) == 0 {
		return nil
	}
	f := finding.New(finding.Warning, "release-missing", missingMessage(lacking), missingRemedy(lacking, wanted, o))
	f.Subject.Provider = wanted[0].Address.String()
	r.add(f)
	return nil
}

// lacking returns the offered versions that requirements mean and no tag has, newest
// first. What waits for approval, or was denied, is not missing.
func lacking(tags []string, offered []provider.Version, wanted []provider.Requirement, newest int) []provider.Version {
	known := slices.Concat(artifact.Tags(tags).Tagged(), artifact.Tags(tags).Pending(), artifact.Tags(tags).Denied())
	var lacking []provider.Version
	for _, w := range wanted {
		versions, _ := w.Select(offered, newest) // none is nothing to miss
		for _, v := range versions {
			if !slices.Contains(known, v) {
				lacking = append(lacking, v)
			}
		}
	}
	return provider.NewestFirst(lacking)
}

// maxListed is the maximum number of missing versions that a finding lists.
const maxListed = 5

// missingMessage names the newest few.
func missingMessage(lacking []provider.Version) string {
	var some []string
	for _, v := range lacking[:min(len(lacking), maxListed)] {
		some = append(some, v.String())
	}
	text := strings.Join(some, ", ")
	if more := len(lacking) - len(some); more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return fmt.Sprintf("The origin offers versions that the repository does not have: %s.", text)
}

// missingRemedy is the command that brings them: a few by their names, and many as
// they were asked for here.
func missingRemedy(lacking []provider.Version, wanted []provider.Requirement, o Options) finding.Remedy {
	var constraints []string
	flags := ""
	if len(lacking) <= maxListed {
		for _, v := range lacking {
			constraints = append(constraints, v.String())
		}
	} else {
		for _, w := range wanted {
			constraints = append(constraints, w.Constraint.String())
		}
		flags = " --all"
		if o.Newest > 0 {
			flags = fmt.Sprintf(" --latest %d", o.Newest)
		}
	}
	remedy := finding.Remedy{Command: doctor.MirrorCommand(wanted[0].Address, o.Template, constraints...) + flags}
	if o.Newest == 0 {
		remedy.Hint = "mirror the missing versions; to check fewer versions, use a constraint, or --latest instead of --all"
	}
	return remedy
}
