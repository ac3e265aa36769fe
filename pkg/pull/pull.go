// Package pull brings packages from a source into a directory, verified: what
// the source's SHA256SUMS, the digest and the h1 say must be what is written.
//
//	pull = oci.Source (or another) → Package → verified reader → directory sink
//
// Use it to put providers where OpenTofu looks for them, or to hand zips on. A
// [Sink] of your own may store them elsewhere.
package pull

import (
	"context"
	"io"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/tofu-oci/tofu-oci/internal/schedule"
	"github.com/tofu-oci/tofu-oci/internal/transfer"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// defaultConcurrency is the default limit of concurrent transfers.
const defaultConcurrency = 4

// Options of [Release]. The zero value pulls this machine's platform.
type Options struct {
	// Platforms are those wanted; none means this machine's.
	Platforms []provider.Platform
	// Concurrency is how many zips move at once; 0 is 4.
	Concurrency int
	// Acquire is asked before a zip moves, with its size in bytes or -1, and waits
	// until it may; the zip has moved when release is called, or is about to make
	// its last try and asks again. It is for several releases that share a limit, as
	// [Many] has them, and limits further than Concurrency. Nil is a limit of the
	// release's own. Both let a last try move alone.
	Acquire func(ctx context.Context, size int64) (release func(), err error)
	// Verify says what the signature of the release proves, before anything is
	// written; its error ends the run. nil judges nothing; the methods of
	// trust.Policy are such functions.
	Verify func(ctx context.Context, r provider.Release) (provider.Verdict, error)
	// Evidence writes the documents that the release carries beside the zips:
	// sums, signatures, keys, SBOMs, provenance. The sink has to hold zips.
	Evidence bool
	// Backoff is the pause after the given number of failures; nil doubles from
	// half a second.
	Backoff func(failed int) time.Duration
	// Progress is told what moves.
	Progress provider.Progress
}

// Result says what became of a package.
type Result struct {
	Package provider.Package
	// Path is the file or directory that holds it now.
	Path string
	// Kept tells that it was there already and right.
	Kept bool
	// Evidence are the paths of the documents about the package and its release.
	Evidence []string
	// Skipped are the names of documents that were not written, since they are
	// not named like evidence of the provider.
	Skipped []string
	// Verdict is what Verify said of the package's release; none where it was not
	// asked.
	Verdict provider.Verdict
	// Stored is where the package's release lies, if that is one OCI repository.
	Stored provider.Stored
	// Sums tells that a SHA256SUMS document lists the zip. Without one, the
	// repository's word for the digest is all there is.
	Sums bool
}

// Release brings a release's packages from a source into a sink. The results
// are sorted by platform. Nothing unverified gets a final name.
func Release(ctx context.Context, src provider.Source, sink Sink, a provider.Address, v provider.Version, o Options) ([]Result, error) {
	platforms := o.Platforms
	if len(platforms) == 0 {
		platforms = []provider.Platform{provider.CurrentPlatform()}
	}
	// 1. What there is; the source has compared it with its SHA256SUMS.
	release, err := src.Release(ctx, a, v, platforms...)
	if err != nil {
		return nil, &provider.Error{Op: "pulling", Address: a, Version: v, Err: err}
	}
	// 2. Whether its signature does.
	verdict, err := judge(ctx, release, o)
	if err != nil {
		return nil, &provider.Error{Op: "pulling", Address: a, Version: v, Err: err}
	}
	// 3. Each package through the verifying reader into the sink.
	o = o.withAcquire()
	results := make([]Result, len(release.Packages))
	group, groupCtx := errgroup.WithContext(ctx)
	group.SetLimit(concurrency(o))
	for i, p := range release.Packages {
		group.Go(func() (err error) {
			if results[i], err = fetch(groupCtx, src, sink, p, o); err != nil {
				return &provider.Error{Op: "pulling", Address: a, Version: v, Platform: p.Platform, Err: err}
			}
			results[i].Sums, results[i].Verdict, results[i].Stored = hasSums(release, p), verdict, release.Stored
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	// 4. The documents beside them.
	if o.Evidence {
		if err := writeEvidence(ctx, src, release, results); err != nil {
			return nil, &provider.Error{Op: "pulling", Address: a, Version: v, Err: err}
		}
	}
	return results, nil
}

func judge(ctx context.Context, r provider.Release, o Options) (provider.Verdict, error) {
	if o.Verify == nil {
		return provider.Verdict{}, nil
	}
	return o.Verify(ctx, r)
}

func concurrency(o Options) int {
	if o.Concurrency > 0 {
		return o.Concurrency
	}
	return defaultConcurrency
}

// withAcquire returns the options with a pool of transfers.
func (o Options) withAcquire() Options {
	if o.Acquire == nil {
		o.Acquire = schedule.NewTransfers(concurrency(o)).Acquire
	}
	return o
}

// fetch brings one package into the sink unless it is there.
func fetch(ctx context.Context, src provider.Source, sink Sink, p provider.Package, o Options) (Result, error) {
	if result, done, err := fetchDirectory(ctx, src, sink, p); done {
		return result, err
	}
	result := Result{Package: p}
	var err error
	if result.Path, result.Kept, err = sink.Has(ctx, p); err != nil || result.Kept {
		return result, err
	}
	slot, err := transfer.NewSlot(ctx, o.Acquire, p.Size)
	if err != nil {
		return result, err
	}
	defer slot.Release()
	retrier := transfer.Retrier{Backoff: o.Backoff, Progress: o.Progress, Slot: slot}
	open := func(ctx context.Context) (io.ReadCloser, error) {
		body, size, err := src.Open(ctx, p)
		if err != nil {
			return nil, err
		}
		return transfer.Watch(o.Progress, p, size, body), nil
	}
	err = retrier.Do(ctx, "fetching "+p.Filename, func() error {
		result.Path, result.Kept, err = sink.Put(ctx, p, open)
		return err
	})
	return result, err
}

func hasSums(r provider.Release, p provider.Package) bool {
	return slices.ContainsFunc(slices.Concat(r.Documents, p.Documents), func(d provider.Document) bool {
		return d.Kind == provider.KindSums
	})
}
