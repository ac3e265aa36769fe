package pullthrough

import (
	"context"
	"io"
	"sync"
	"time"

	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
	"github.com/tofu-oci/tofu-oci/pkg/template"
)

// maxQueue limits the time until the size of a zip is known, which includes waiting for a
// slot, the repository, and the origin. HTTP/2 connections are often closed after a minute
// without data.
const maxQueue = 45 * time.Second

// Zip is the zip for a platform while its release is being mirrored. The caller must close
// it.
type Zip struct {
	// Package describes the zip. Its size is known.
	Package provider.Package
	// File reads the zip, and waits for bytes that were not downloaded yet. If the digest
	// is wrong, the last bytes are never returned. File is nil if the zip must be read from
	// the repository instead.
	File io.ReaderAt
	// Repository is the target repository.
	Repository repository.Repository

	close func()
}

// Close releases the zip. The mirror operation continues.
func (z *Zip) Close() {
	if z.close != nil {
		z.close()
	}
}

// Fetch returns the zip for a platform of a release that [Puller.Release] returned, and
// mirrors the entire release. Concurrent calls share one mirror operation, which continues
// if the callers stop waiting. ctx also applies to reading the zip. Fetch returns
// [ErrStored] if the release is in the repository by now, a *[RefusedError] or
// *[FailedError] if it can't be mirrored, and [ErrBusy] if too many releases are being
// mirrored.
//
// check, if not nil, returns a *[RefusedError] if the release is pending or denied. Fetch
// calls it before the mirror operation starts and before it returns a zip. The mirror
// operation calls the check of its first caller before it writes the tag.
func (p *Puller) Fetch(ctx context.Context, to template.Reference, r provider.Release, platform provider.Platform, check func(context.Context) error) (*Zip, error) {
	// 1. Check that the release can be pulled.
	if _, err := r.Package(platform); err != nil {
		return nil, err
	}
	if check == nil {
		check = func(context.Context) error { return nil }
	}
	if err := check(ctx); err != nil {
		return nil, err
	}
	// 2. Join the mirror operation, and wait for its approval.
	key := jobKey{to, r.Address, r.Version}
	j, err := p.join(key, r, check)
	if err != nil {
		return nil, err
	}
	waiting, cancel := context.WithTimeoutCause(ctx, maxQueue, ErrBusy)
	defer cancel()
	select {
	case <-j.approved:
	case <-j.done:
	case <-waiting.Done():
		return nil, context.Cause(waiting)
	}
	if err := check(ctx); err != nil {
		return nil, err
	}
	// 3. Join the download of the zip.
	pkg, err := j.release.Package(platform)
	if err != nil {
		return nil, err
	}
	s := j.spoolFor(pkg, true)
	if s == nil {
		return j.finishedZip(key, pkg)
	}
	if pkg.Size, err = s.size(waiting); err != nil {
		s.release()
		if waiting.Err() != nil {
			return nil, context.Cause(waiting)
		}
		return nil, p.currentFailure(key, err)
	}
	f := &spoolReader{ctx: ctx, spool: s, release: sync.OnceFunc(s.release)}
	return &Zip{Package: pkg, File: f, Repository: j.repo, close: f.release}, nil
}

// finishedZip returns a zip whose download is finished.
func (j *job) finishedZip(key jobKey, pkg provider.Package) (*Zip, error) {
	switch {
	case !j.isDone():
	case j.err != nil:
		return nil, j.puller.currentFailure(key, j.err)
	default:
		return nil, ErrStored
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	pkg.Size = j.pushed[pkg.Digest]
	return &Zip{Package: pkg, Repository: j.repo}, nil
}
