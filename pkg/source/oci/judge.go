package oci

import (
	"context"
	"fmt"

	"github.com/tofu-oci/tofu-oci/pkg/artifact"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
)

// JudgeCopy makes a function that judges releases of a provider, as trust.Policy
// does, into one for [repository.CopyOptions]: it is asked about the evidence that
// lies in the repository which is copied from, after that was held against its
// checksums.
func JudgeCopy(a provider.Address, judge func(context.Context, provider.Release) (provider.Verdict, error)) func(context.Context, repository.Reader, repository.Inspection) (provider.Verdict, error) {
	return func(ctx context.Context, from repository.Reader, found repository.Inspection) (provider.Verdict, error) {
		v, isVersion := artifact.ParseTag(found.Tag)
		if !isVersion {
			return provider.Verdict{}, fmt.Errorf("the tag %s is no version, so nothing says what the release is to be: %w", found.Tag, provider.ErrVersionNotFound)
		}
		release, err := FromInspection(ctx, from, found, a, v, found.Index.Platforms())
		if err != nil {
			return provider.Verdict{}, err
		}
		return judge(ctx, release)
	}
}
