package verify

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/tofu-oci/tofu-oci/internal/doctor"
	"github.com/tofu-oci/tofu-oci/internal/finding"
	"github.com/tofu-oci/tofu-oci/pkg/artifact"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/template"
)

// choice is a version to check, and the first requirement that selects it.
type choice struct {
	provider.Requirement
	version provider.Version
}

// choose returns the versions that the requirements select, newest first. It records a
// failure for each requirement that matches no version. It also records the
// pre-releases that were skipped.
func (r *Report) choose(tags []string, wanted []provider.Requirement, latest int) []choice {
	var chosen []choice
	has := func(v provider.Version) bool {
		return slices.ContainsFunc(chosen, func(c choice) bool { return c.version == v })
	}
	for _, w := range wanted {
		versions, skipped, err := matching(tags, w, latest)
		if err != nil {
			r.Failed = append(r.Failed, Failure{Wanted: w, Err: err})
		}
		r.Skipped = append(r.Skipped, skipped...)
		for _, v := range versions {
			if !has(v) {
				chosen = append(chosen, choice{w, v})
			}
		}
	}
	r.Skipped = slices.DeleteFunc(provider.NewestFirst(r.Skipped), has)
	slices.SortFunc(chosen, func(a, b choice) int { return b.version.Compare(a.version) })
	return chosen
}

// matching returns the versions that a requirement selects. If it selects all versions,
// matching also returns the pre-releases that it skips.
func matching(tags []string, wanted provider.Requirement, latest int) (versions, skipped []provider.Version, err error) {
	existing := artifact.Tags(tags).Tagged()
	if exact, isExact := wanted.Constraint.Exact(); isExact && slices.Contains(existing, exact) {
		return []provider.Version{exact}, nil, nil // the version can be a pre-release
	}
	if latest == 0 {
		skipped = wanted.PreReleases(existing)
	}
	versions, err = wanted.Select(existing, latest)
	if missing, ok := errors.AsType[*provider.VersionError](err); ok {
		missing.Pending = slices.DeleteFunc(artifact.Tags(tags).Undecided(), func(v provider.Version) bool { return !wanted.Constraint.Allows(v) })
	}
	return versions, skipped, err
}

// tags adds each finding about tags once, even if the finding applies to several
// requirements. The highest severity applies.
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

// compareVersions adds a finding about versions that the origin registry offers but the
// repository doesn't have. A deleted version can't be detected in any other way.
//
// compareVersions considers the versions that mirror would select for the same
// requirements. The finding is a warning, because it is unknown whether the repository
// ever contained these versions. compareVersions returns an error if the origin
// registry doesn't respond.
func (r *Report) compareVersions(ctx context.Context, tags []string, wanted []provider.Requirement, o Options) error {
	offered, err := o.Origin.Versions(ctx, wanted[0].Address)
	switch {
	case errors.Is(err, provider.ErrProviderNotFound) || errors.Is(err, provider.ErrVersionNotFound):
		return nil // each release reports this problem
	case err != nil:
		return fmt.Errorf("querying the origin registry: %w", err)
	}
	missing := missingVersions(tags, offered, wanted, o.Latest)
	if len(missing) == 0 {
		return nil
	}
	f := finding.New(finding.Warning, "release-missing", missingMessage(missing), missingRemedy(missing, wanted, o))
	f.Subject.Provider = wanted[0].Address.String()
	r.add(f)
	return nil
}

// missingVersions returns the offered versions that the requirements select and that have
// no tag, newest first. It ignores pending, denied, and pruned versions.
func missingVersions(tags []string, offered []provider.Version, wanted []provider.Requirement, latest int) []provider.Version {
	all := artifact.Tags(tags)
	known := slices.Concat(all.Tagged(), all.Pending(), all.Denied(), all.Pruned())
	var missing []provider.Version
	for _, w := range wanted {
		versions, _ := w.Select(offered, latest) // if no versions match, none of them are missing
		for _, v := range versions {
			if !slices.Contains(known, v) {
				missing = append(missing, v)
			}
		}
	}
	return provider.NewestFirst(missing)
}

// maxListed is the maximum number of missing versions that a finding lists.
const maxListed = 5

// missingMessage returns a message that lists the newest missing versions.
func missingMessage(missing []provider.Version) string {
	var some []string
	for _, v := range missing[:min(len(missing), maxListed)] {
		some = append(some, v.String())
	}
	text := strings.Join(some, ", ")
	if more := len(missing) - len(some); more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return fmt.Sprintf("The origin registry offers versions that are missing from the repository: %s.", text)
}

// missingRemedy returns the command that mirrors the missing versions. If only a few
// versions are missing, the command lists them. Otherwise, it repeats the constraints.
func missingRemedy(missing []provider.Version, wanted []provider.Requirement, o Options) finding.Remedy {
	var constraints []string
	flags := ""
	if len(missing) <= maxListed {
		for _, v := range missing {
			constraints = append(constraints, v.String())
		}
	} else {
		for _, w := range wanted {
			constraints = append(constraints, w.Constraint.String())
		}
		flags = " --all"
		if o.Latest > 0 {
			flags = fmt.Sprintf(" --latest %d", o.Latest)
		}
	}
	remedy := finding.Remedy{Command: doctor.MirrorCommand(wanted[0].Address, o.Template, constraints...) + flags}
	if o.Latest == 0 {
		remedy.Hint = "mirror the missing versions; to check fewer versions, use a constraint, or --latest instead of --all"
	}
	return remedy
}
