package offline

import (
	"context"
	"errors"
	"fmt"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/tofu-oci/tofu-oci/internal/memo"
	"github.com/tofu-oci/tofu-oci/pkg/artifact"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
	"github.com/tofu-oci/tofu-oci/pkg/trust"
)

// acceptedModule is a module in the bundle without the versions that the signature policy
// refuses. The module registry serves only accepted versions, because the program can also
// request modules that [Run.fetch] doesn't fetch, for example with init -from-module.
type acceptedModule struct {
	repository.Reader
	run     *Run
	address provider.Address
	// refusals contains a *[trust.RefusedError] or nil for each version that was requested.
	refusals memo.Memo[provider.Version, error]
}

// Manifest is like the method of the bundle's reader. For a tag of a refused version, it
// returns [provider.ErrVersionNotFound] with the reason.
func (m *acceptedModule) Manifest(ctx context.Context, reference string) (ocispec.Descriptor, []byte, error) {
	v, isVersion := artifact.ParseModuleTag(reference)
	if isVersion {
		refused, err := m.refusals.Get(ctx, v, func(ctx context.Context) (error, error) { return m.check(ctx, v) })
		if err == nil && refused != nil {
			err = fmt.Errorf("%w: %w", provider.ErrVersionNotFound, refused)
		}
		if err != nil {
			return ocispec.Descriptor{}, nil, err
		}
	}
	return m.Reader.Manifest(ctx, reference)
}

// check returns the reason the policy refuses a version, or nil.
func (m *acceptedModule) check(ctx context.Context, v provider.Version) (refused, err error) {
	r, err := m.run.Source.Release(ctx, m.address, v)
	if err == nil {
		_, err = m.run.verify(ctx, r)
	}
	if problem, is := errors.AsType[*trust.RefusedError](err); is {
		return problem, nil
	}
	return nil, err
}
