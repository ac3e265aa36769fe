package bundle

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/tofu-oci/tofu-oci/internal/memo"
	"github.com/tofu-oci/tofu-oci/pkg/artifact"
	"github.com/tofu-oci/tofu-oci/pkg/mirror"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/publish"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
	"github.com/tofu-oci/tofu-oci/pkg/source/oci"
)

// Requirements returns an exact requirement for each version in the bundle.
func (b *Bundle) Requirements() ([]provider.Requirement, error) {
	var all []provider.Requirement
	for _, r := range b.Manifest.Repositories {
		a, err := parseAddress(r.Address)
		if err != nil {
			return nil, err
		}
		for _, t := range r.Tags {
			if v, ok := artifact.ParseTag(t.Name); ok {
				all = append(all, provider.Requirement{Address: a, Constraint: provider.ExactConstraint(v)})
			}
		}
	}
	return all, nil
}

// Import copies the versions in the bundle to repositories, like [mirror.Copy].
// Versions that the target denies are skipped, unless Force is set. If content of a
// version is neither in the available parts nor in the target, the version fails with a
// *[MissingPartError]. In this case, Import pushes the blobs that are available, so
// that a later run needs only the other parts.
func Import(ctx context.Context, b *Bundle, o mirror.Options) error {
	wanted, err := b.Requirements()
	if err != nil {
		return err
	}
	if o.Publisher == nil {
		o.Publisher = &publish.Publisher{}
	}
	i := importer{bundle: b, publisher: o.Publisher}
	src := oci.New(func(a provider.Address) (repository.Reader, error) { return b.Reader(a, nil) })
	return mirror.RunWith(ctx, src, wanted, o, i.version)
}

type importer struct {
	bundle    *Bundle
	publisher *publish.Publisher
	// pushed contains the repositories to which the available blobs were pushed.
	pushed memo.Memo[provider.Address, struct{}]
}

// version imports one version.
func (i *importer) version(ctx context.Context, repo repository.Repository, a provider.Address, v provider.Version, o publish.Options) (publish.Result, error) {
	from, err := i.bundle.Reader(a, repo)
	if err != nil {
		return publish.Result{}, err
	}
	o.SkipDenied, o.Import = !o.Force, true
	missing, isMissing := errors.AsType[*MissingPartError](i.missing(ctx, from, artifact.Tag(v)))
	if !isMissing || repository.CheckDenied(ctx, repo, v) != nil {
		return i.publisher.Copy(ctx, from, repo, a, v, o)
	}
	if !o.DryRun {
		_, err = i.pushed.Get(ctx, a, func(ctx context.Context) (none struct{}, err error) {
			return none, i.pushAvailable(ctx, from.(*reader), repo)
		})
	}
	return publish.Result{Plan: publish.Plan{Address: a, Version: v, Tag: artifact.Tag(v)}}, fmt.Errorf("importing %s %s: %w", a, v, cmp.Or[error](err, missing))
}

// missing returns a *[MissingPartError] if content of a version is neither in the
// available parts nor in the target. The copy returns all other errors, too.
func (i *importer) missing(ctx context.Context, from repository.Reader, tag string) error {
	graph, err := repository.ReadGraph(ctx, from, tag)
	if err != nil {
		return err
	}
	var digests []digest.Digest
	for _, d := range graph.Blobs {
		digests = append(digests, d.Digest)
	}
	for _, d := range digests {
		if _, available := i.bundle.positions[d]; available {
			continue
		}
		if _, err := from.Stat(ctx, d); err != nil {
			if lost, ok := errors.AsType[*MissingPartError](err); ok {
				lost.Parts = i.bundle.missing(digests...)
			}
			return err
		}
	}
	return nil
}

// pushAvailable pushes the available blobs that are missing from the target.
func (i *importer) pushAvailable(ctx context.Context, from *reader, to repository.Repository) error {
	for _, blob := range from.repository.Blobs {
		_, available := i.bundle.positions[blob]
		if !available {
			continue
		}
		if _, err := to.Stat(ctx, blob); err == nil {
			continue
		}
		d := ocispec.Descriptor{Digest: blob, Size: i.bundle.content[blob].Size}
		body, err := repository.Verified(ctx, from, d, "blob "+blob.String())
		if err == nil {
			err = to.PushBlob(ctx, d, body)
			_ = body.Close()
		}
		if err != nil {
			return fmt.Errorf("importing %s: %w", blob, err)
		}
	}
	return nil
}
