package module

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/tofu-oci/tofu-oci/pkg/artifact"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/publish"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
)

// facts contains everything that a plan depends on.
type facts struct {
	// denial is the denial of the version, or nil.
	denial *repository.DecisionRecord
	// released and pending describe the content that the version's tags point to.
	// pending is read only if Stage is set.
	released, pending stored
	// latest is the inspection of [LatestTag]. It is read only if Latest is set.
	latest repository.Inspection
}

// stored describes the content that a tag points to.
type stored struct {
	repository.Inspection
	// manifest is the zero value if the tag doesn't point to a module package.
	manifest artifact.Manifest
	// missing contains the digests of the manifest's blobs that don't exist.
	missing []digest.Digest
}

// at returns the content that the version's tag or pending tag points to.
func (f facts) at(tag string) stored {
	if tag == f.pending.Tag {
		return f.pending
	}
	return f.released
}

// isDenied reports whether the version is denied and nothing overrides the denial.
func (f facts) isDenied(o PushOptions) bool {
	return f.denial != nil && !o.Force
}

// gather reads the facts from the repository.
func (j *push) gather(ctx context.Context) (f facts, err error) {
	v := j.pkg.Version
	err = repository.CheckDenied(ctx, j.repo, v)
	if denied, ok := errors.AsType[*repository.DeniedError](err); ok {
		f.denial = &denied.Record
	} else if err != nil && !isMissing(err) {
		return f, err
	}
	if f.released, err = j.read(ctx, artifact.Tag(v)); err == nil && j.options.Stage {
		f.pending, err = j.read(ctx, artifact.PendingTag(v))
	}
	if err == nil && j.options.Latest && !j.options.Stage {
		f.latest, err = repository.Inspect(ctx, j.repo, LatestTag, repository.DepthIndex)
	}
	return f, err
}

// read inspects a tag, and determines which blobs of its manifest are missing.
func (j *push) read(ctx context.Context, tag string) (s stored, err error) {
	s.Inspection, err = repository.Inspect(ctx, j.repo, tag, repository.DepthBlobs)
	found := s.At(provider.Platform{})
	s.manifest, s.missing = found.Manifest, found.Missing
	return s, err
}

// Plan describes the changes that are required to publish a package under a tag.
type Plan struct {
	Status publish.Status `json:"status"`
	// Tag is the tag to write, or the tag that already points to the package.
	Tag string `json:"tag"`
	// From is the digest that the tag points to before the plan is executed. It is
	// empty if the tag does not exist.
	From digest.Digest `json:"from,omitempty"`
	// Latest reports whether the tag [LatestTag] is written.
	Latest bool `json:"latest,omitempty"`
}

// decide computes the plan without I/O.
func decide(f facts, zip provider.Package, o PushOptions) (Plan, error) {
	if f.isDenied(o) {
		return Plan{Status: publish.Denied, Tag: f.released.Tag, From: f.released.Digest}, &repository.DeniedError{Record: *f.denial}
	}
	p, err := compare(f.released, zip, o)
	if o.Stage && err == nil && p.Status != publish.Unchanged {
		p, err = compare(f.pending, zip, o)
	}
	p.Latest = o.Latest && !o.Stage && err == nil && (p.Status != publish.Unchanged || f.latest.Digest != p.From)
	return p, err
}

// compare computes the plan for one tag.
func compare(target stored, zip provider.Package, o PushOptions) (Plan, error) {
	p := Plan{Tag: target.Tag, From: target.Digest}
	reason := ""
	switch {
	case !target.Exists():
		p.Status = publish.Created
	case target.Dangling:
		p.Status = publish.Repaired
	case !target.Module:
		reason = fmt.Sprintf("tag %s does not point to a module", target.Tag)
	case target.manifest.Zip.Digest != zip.Digest:
		reason = fmt.Sprintf("tag %s contains the zip %s, not %s", target.Tag, target.manifest.Zip.Digest, zip.Digest)
	case len(target.missing) > 0:
		p.Status = publish.Repaired
	case len(newDocuments(target.manifest, zip)) > 0, o.Signer != nil && !isSigned(target.manifest, zip):
		p.Status = publish.Extended
	default:
		p.Status = publish.Unchanged
	}
	if reason != "" && !o.Force {
		return p, &repository.ConflictError{Release: zip.Filename, Reasons: []string{reason}}
	}
	if reason != "" {
		p.Status = publish.Replaced
	}
	return p, nil
}

// newDocuments returns the names of the zip's documents that are missing from a
// manifest.
func newDocuments(stored artifact.Manifest, zip provider.Package) []string {
	var names []string
	for _, d := range zip.Documents {
		has := func(layer ocispec.Descriptor) bool {
			return layer.Annotations[ocispec.AnnotationTitle] == d.Name && layer.MediaType == d.MediaType && layer.Digest == d.Digest
		}
		if !slices.ContainsFunc(stored.Documents, has) {
			names = append(names, d.Name)
		}
	}
	return names
}
