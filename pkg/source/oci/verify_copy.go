package oci

import (
	"context"
	"fmt"

	"github.com/tofu-oci/tofu-oci/pkg/artifact"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
)

// VerifyCopy converts a function that verifies releases of a provider, such as a method
// of trust.Policy, to a function for [repository.CopyOptions]. The new function
// verifies the documents in the source repository after they were checked against
// SHA256SUMS.
func VerifyCopy(a provider.Address, verify func(context.Context, provider.Release) (provider.Verdict, error)) func(context.Context, repository.Reader, repository.Inspection) (provider.Verdict, error) {
	return func(ctx context.Context, from repository.Reader, found repository.Inspection) (provider.Verdict, error) {
		v, isVersion := artifact.ParseTag(found.Tag)
		if !isVersion {
			return provider.Verdict{}, fmt.Errorf("the tag %s is not a version: %w", found.Tag, provider.ErrVersionNotFound)
		}
		release, err := FromInspection(ctx, from, found, a, v, found.Index.Platforms())
		if err != nil {
			return provider.Verdict{}, err
		}
		return verify(ctx, release)
	}
}
