package lock

import (
	"context"
	"fmt"
	"io"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/tofu-oci/tofu-oci/internal/packagezip"
	"github.com/tofu-oci/tofu-oci/internal/schedule"
	"github.com/tofu-oci/tofu-oci/internal/transfer"
	"github.com/tofu-oci/tofu-oci/pkg/lockfile"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// zipsAtOnce is how many zips are read at the same time: hashing keeps a core busy,
// and reading the network.
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

// zipReader reads zips for what is in them.
type zipReader struct {
	src      provider.Source
	slots    *schedule.Limiter
	tempDir  string
	progress provider.Progress
	backoff  func(failed int) time.Duration
}

// hashes gives the h1 of a zip and, where that is another one, the h1 of the
// directory that it unpacks to. What is stated of it has to be true.
func (r zipReader) hashes(ctx context.Context, p provider.Package) ([]lockfile.Hash, error) {
	release, err := r.slots.Acquire(ctx, "")
	if err != nil {
		return nil, err
	}
	defer release()
	open := func(ctx context.Context) (io.ReadCloser, error) {
		body, size, err := r.src.Open(ctx, p)
		if err != nil {
			return nil, err
		}
		return transfer.Watch(r.progress, p, size, body), nil
	}
	var contents packagezip.Contents
	retrier := transfer.Retrier{Backoff: r.backoff, Progress: r.progress}
	err = retrier.Do(ctx, "reading "+p.Filename, func() (err error) {
		contents, err = packagezip.HashAny(ctx, open, p.Size, r.tempDir)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", p.Filename, err)
	}
	if err := contents.VerifyH1(p.Filename, p.H1); err != nil {
		return nil, err
	}
	hashes := []lockfile.Hash{lockfile.Hash(contents.H1)}
	if contents.H1Unpacked != contents.H1 {
		hashes = append(hashes, lockfile.Hash(contents.H1Unpacked))
	}
	return hashes, nil
}
