package module

import (
	"context"
	"fmt"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/tofu-oci/tofu-oci/pkg/artifact"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/pull"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
	"github.com/tofu-oci/tofu-oci/pkg/source/oci"
)

// Release returns the requirement that selects the package. Use it for flows that
// process modules in the same way as providers, such as approval.Promote. Release
// ignores Tag and Digest.
func (r Reference) Release() provider.Requirement {
	wanted := provider.Requirement{Address: provider.ModuleAddress(Reference{Repository: r.Repository}.String())}
	if r.Version != nil {
		wanted.Constraint = provider.ExactConstraint(*r.Version)
	}
	return wanted
}

// Source returns a source for the module in a repository. If the reference has a tag or
// digest, the only release is the package to which the tag or digest refers. Source
// also returns the requirement that selects the package. If the tag or digest doesn't
// exist, the error wraps [provider.ErrVersionNotFound].
func Source(ctx context.Context, repo repository.Reader, r Reference) (*oci.Source, provider.Requirement, error) {
	wanted := r.Release()
	open := func(provider.Address) (repository.Reader, error) { return repo, nil }
	if r.Tag == "" && r.Digest == "" {
		return oci.New(open), wanted, nil
	}
	i, err := repository.Inspect(ctx, repo, r.Target(), repository.DepthIndex)
	if err == nil && i.Absent != nil {
		err = fmt.Errorf("%w: %w", provider.ErrVersionNotFound, i.Absent)
	}
	if err != nil {
		return nil, wanted, fmt.Errorf("reading %s: %w", r, err)
	}
	v, isVersion := artifact.ParseModuleTag(r.Tag)
	if !isVersion { // modules that other tools pushed might not contain their version
		v, _ = provider.ParseVersion(i.Index.Annotations[ocispec.AnnotationVersion])
	}
	wanted.Constraint = provider.ExactConstraint(v)
	return oci.NewAt(open, r.Target(), v), wanted, nil
}

// Pull unpacks the newest package that a requirement selects into the directory dir. If
// dir exists, it must be empty or already contain the package. The package appears in
// dir only after it has been unpacked and verified. src and wanted come from [Source].
// The result is passed to o.OnResult. Pull returns an error only if the context is
// canceled or if dir is invalid.
func Pull(ctx context.Context, src provider.Source, wanted provider.Requirement, dir string, o pull.ManyOptions) error {
	sink, err := pull.NewModuleSink(dir)
	if err != nil {
		return err
	}
	o.Platforms = []provider.Platform{{}}
	return pull.Many(ctx, src, sink, []provider.Requirement{wanted}, o)
}
