package source

import (
	"context"

	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// Resolve says which versions of a source a requirement means: the newest n that
// meet it, newest first; n = 0 means all. A requirement that names one version
// means just that, and then no list of versions is asked for: whether it is there
// is told when its release is read. Errors are those of Versions, and
// [provider.ErrVersionNotFound].
func Resolve(ctx context.Context, src provider.Source, r provider.Requirement, n int) ([]provider.Version, error) {
	if v, exact := r.Constraint.Exact(); exact {
		return []provider.Version{v}, nil
	}
	versions, err := src.Versions(ctx, r.Address)
	if err != nil {
		return nil, err
	}
	return r.Select(versions, n)
}
