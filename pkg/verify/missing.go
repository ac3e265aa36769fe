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
)

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

// lacking gives the offered versions that requirements mean and no tag has, newest
// first. What waits for approval, or was denied, is not missing.
func lacking(tags []string, offered []provider.Version, wanted []provider.Requirement, newest int) []provider.Version {
	known := slices.Concat(artifact.TaggedVersions(tags), artifact.PendingVersions(tags), artifact.DeniedVersions(tags))
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

// missingMessage names the newest few.
func missingMessage(lacking []provider.Version) string {
	var some []string
	for _, v := range lacking[:min(len(lacking), provider.MaxSomeVersions)] {
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
func missingRemedy(lacking []provider.Version, wanted []provider.Requirement, o Options) string {
	var constraints []string
	flags := ""
	if len(lacking) <= provider.MaxSomeVersions {
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
	remedy := doctor.MirrorCommand(wanted[0].Address, o.Template, constraints...) + flags
	if o.Newest == 0 {
		remedy += "\nor, if fewer versions are meant to be here, verify with a constraint, or with --latest in the place of --all"
	}
	return remedy
}
