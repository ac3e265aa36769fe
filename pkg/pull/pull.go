// Package pull downloads packages from a source into a directory. Every file that it
// writes matches the SHA256SUMS, the digest, and the h1: hash from the source.
//
//	pull = oci.Source (or another) → Package → verifying reader → directory sink
//
// Use this package to fill directories that OpenTofu installs from, or to distribute
// zips. Implement a [Sink] to store packages elsewhere.
package pull

import (
	"context"
	"io"
	"slices"
	"time"

	"github.com/tofu-oci/tofu-oci/internal/schedule"
	"github.com/tofu-oci/tofu-oci/internal/transfer"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// defaultConcurrency is the default limit on concurrent transfers.
const defaultConcurrency = 4

// Options configures [Release]. With the zero value, the package for this machine's
// platform is pulled.
type Options struct {
	// Platforms lists the platforms to pull. If empty, this machine's platform is used.
	Platforms []provider.Platform
	// Concurrency is the maximum number of concurrent transfers. If 0, 4 is used.
	Concurrency int
	// Acquire, if not nil, is called before the transfer of a zip. size is the size of
	// the zip in bytes, or -1 if it is unknown. Acquire blocks until the transfer can
	// start. The returned function is called when the transfer has finished. It is also
	// called before the last attempt, for which Acquire is called again. Use Acquire to
	// share a limit between releases, as [Many] does. The shared limit applies in
	// addition to Concurrency. With or without Acquire, the last attempt runs
	// exclusively.
	Acquire func(ctx context.Context, size int64) (release func(), err error)
	// Verify, if not nil, verifies the signature of the release before anything is
	// written. If it returns an error, Release fails. Verify is typically a method of
	// trust.Policy.
	Verify func(ctx context.Context, r provider.Release) (provider.Verdict, error)
	// Documents writes the documents about the release (checksums, signatures, keys,
	// SBOMs, and provenance) to the directories of the zips. The sink must store zips.
	Documents bool
	// Backoff returns the delay after the given number of failures. If nil, the delay
	// starts at half a second and doubles.
	Backoff func(failed int) time.Duration
	// Progress reports the progress of transfers.
	Progress provider.Progress
}

// Result is the result of pulling a package.
type Result struct {
	Package provider.Package
	// Path is the path of the package's file or directory.
	Path string
	// Kept reports whether a valid package already existed.
	Kept bool
	// Documents lists the paths of the documents about the package and its release.
	Documents []string
	// Skipped lists the names of documents that were not written because their names
	// are unconventional.
	Skipped []string
	// Verdict is the result of Verify. It is the zero value if Verify is nil.
	Verdict provider.Verdict
	// Stored is the location of the release if the release comes from one OCI
	// repository.
	Stored provider.Stored
	// Sums reports whether a SHA256SUMS document lists the zip. If false, the digest is
	// only as trustworthy as the repository.
	Sums bool
}

// Release pulls the packages of a release from a source into a sink. The results are
// sorted by platform. Files and directories are renamed to their final names only after
// they have been verified.
func Release(ctx context.Context, src provider.Source, sink Sink, a provider.Address, v provider.Version, o Options) ([]Result, error) {
	platforms := o.Platforms
	if len(platforms) == 0 {
		platforms = []provider.Platform{provider.CurrentPlatform()}
	}
	// 1. Fetch the release. The source verifies it against SHA256SUMS.
	release, err := src.Release(ctx, a, v, platforms...)
	if err != nil {
		return nil, &provider.Error{Op: "pulling", Address: a, Version: v, Err: err}
	}
	// 2. Verify the signature.
	verdict, err := verify(ctx, release, o)
	if err != nil {
		return nil, &provider.Error{Op: "pulling", Address: a, Version: v, Err: err}
	}
	// 3. Copy each package to the sink through a verifying reader.
	o = o.withAcquire()
	results := make([]Result, len(release.Packages))
	err = schedule.All(ctx, concurrency(o), release.Packages, func(ctx context.Context, i int, p provider.Package) (err error) {
		if results[i], err = fetch(ctx, src, sink, p, o); err != nil {
			return &provider.Error{Op: "pulling", Address: a, Version: v, Platform: p.Platform, Err: err}
		}
		results[i].Sums, results[i].Verdict, results[i].Stored = hasSums(release, p), verdict, release.Stored
		return nil
	})
	if err != nil {
		return nil, err
	}
	// 4. Write the documents.
	if o.Documents {
		if err := writeDocuments(ctx, src, release, results); err != nil {
			return nil, &provider.Error{Op: "pulling", Address: a, Version: v, Err: err}
		}
	}
	return results, nil
}

func verify(ctx context.Context, r provider.Release, o Options) (provider.Verdict, error) {
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

// withAcquire returns options in which Acquire limits the number of concurrent
// transfers.
func (o Options) withAcquire() Options {
	if o.Acquire == nil {
		o.Acquire = schedule.NewTransfers(concurrency(o)).Acquire
	}
	return o
}

// fetch stores a package in the sink unless the package already exists.
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
