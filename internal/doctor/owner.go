package doctor

import (
	"context"
	"errors"
	"fmt"

	"github.com/tofu-oci/tofu-oci/internal/text"
	"github.com/tofu-oci/tofu-oci/pkg/artifact"
	"github.com/tofu-oci/tofu-oci/pkg/finding"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
)

// maxOthers bounds the releases that are looked at beside the one that is to be
// installed: the newest say who is publishing there.
const maxOthers = 10

const ownRepository = "give each provider a repository of its own: use {hostname}, {namespace} and {type} in the template"

// owner tells whose release it is. OpenTofu goes by the repository alone.
func (e *examination) owner(what string, found repository.Inspection) {
	foreign, ok := errors.AsType[*repository.ForeignError](found.CheckProvider(e.Wanted.Address, e.Aliases...))
	if ok {
		f := finding.New(finding.Error, "provider-differs", fmt.Sprintf("In %s %v. OpenTofu does not read the annotation and installs it all the same; tofu-oci refuses it.", e.ref, foreign), ownRepository)
		if alias, ok := foreign.Alias(); ok {
			f.Remedy = fmt.Sprintf("declare that the one stands for the other, with --alias %s, or mirror the right one:\n%s --force", text.Quote(alias.String()), e.mirror(e.report.Version))
		}
		e.add(f)
		return
	}
	if err := found.CheckProvider(e.Wanted.Address); err != nil {
		e.find(finding.Note, "provider-aliased", fmt.Sprintf("%s holds the provider %s, which --alias allows and OpenTofu does not ask for.", what, found.Index.Annotations[artifact.AnnotationProvider]),
			"nothing, if it is meant to be so")
	}
}

// shared finds other providers' releases in the repository, whose versions OpenTofu
// takes for this provider's.
func (e *examination) shared(ctx context.Context, repo repository.Reader, tags []string) error {
	versions := artifact.TaggedVersions(tags)
	var first *repository.ForeignError
	own := false
	for _, v := range versions[:min(len(versions), maxOthers)] {
		found, err := repository.Inspect(ctx, repo, artifact.Tag(v), repository.DepthIndex)
		if err != nil {
			return err
		}
		if found.Format != nil || !found.Exists() {
			continue
		}
		foreign, ok := errors.AsType[*repository.ForeignError](found.CheckProvider(e.Wanted.Address, e.Aliases...))
		own = own || !ok
		if ok && first == nil {
			first = foreign
		}
	}
	if first != nil && own {
		e.find(finding.Error, "repository-shared", fmt.Sprintf("Two providers are in %s: %v. OpenTofu takes the versions of both for those of %s.", e.ref, first, e.Wanted.Address), ownRepository)
	}
	return nil
}
