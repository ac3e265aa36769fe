package lock

import (
	"context"

	"golang.org/x/sync/errgroup"

	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// zipsAtOnce is how many zips of a release are read at the same time.
const zipsAtOnce = 4

// eachPackage does something with each package, several at once; the first error
// ends it.
func eachPackage(ctx context.Context, packages []provider.Package, do func(ctx context.Context, i int, p provider.Package) error) error {
	group, groupCtx := errgroup.WithContext(ctx)
	group.SetLimit(zipsAtOnce)
	for i, p := range packages {
		group.Go(func() error { return do(groupCtx, i, p) })
	}
	return group.Wait()
}
