package pullthrough

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/tofu-oci/tofu-oci/internal/serve/spool"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
	"github.com/tofu-oci/tofu-oci/pkg/template"
)

// maxQueue is the default of [Options.MaxQueue]. HTTP/2 connections are often closed
// after a minute without data.
const maxQueue = 45 * time.Second

// Zip is a platform's zip while its release is being mirrored. The caller must close
// it.
type Zip struct {
	// Package describes the zip and always contains the zip's size.
	Package provider.Package
	// File reads the zip and waits for bytes that are not yet downloaded. If the digest
	// is wrong, File never returns the last bytes. If the zip must be read from the
	// repository, File is nil.
	File io.ReaderAt
	// Repository is the target repository.
	Repository repository.Repository

	close func() error
}

// Close releases the zip. It does not stop the mirror operation.
func (z *Zip) Close() {
	if z.close != nil {
		_ = z.close()
	}
}

// Fetch mirrors the entire release, which must come from [Puller.Release], and returns
// the zip for a platform. Concurrent calls share one mirror operation. The operation
// continues even if the callers stop waiting. ctx also applies to reading the zip.
//
// If the repository now contains the release, Fetch returns [ErrStored]. If the release
// can't be mirrored, Fetch returns a *[RefusedError] or *[FailedError]. If too many
// releases are being mirrored, it returns [ErrBusy].
//
// check, if not nil, returns a *[RefusedError] if the release is pending or denied.
// Fetch calls check before the mirror operation starts and before it returns a zip.
// Before writing the tag, the mirror operation calls the check of the caller that
// started the operation.
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
	// 2. Join the mirror operation and wait until it approves the release.
	key := jobKey{to, r.Address, r.Version}
	j, err := p.join(key, r, check)
	if err != nil {
		return nil, err
	}
	waiting, cancel := context.WithTimeoutCause(ctx, p.options.MaxQueue, ErrBusy)
	defer cancel()
	approved := j.approved
	if p.options.Publish.Gates != nil {
		approved = nil // gates decide after all zips are in the repository
	}
	select {
	case <-approved:
	case <-j.done:
	case <-waiting.Done():
		return nil, context.Cause(waiting)
	}
	if err := check(ctx); err != nil {
		return nil, err
	}
	// 3. Join the zip's download.
	pkg, err := j.release.Package(platform)
	if err != nil {
		return nil, err
	}
	s := j.spoolFor(pkg, true)
	if s == nil {
		return j.finishedZip(key, pkg)
	}
	if pkg.Size, err = s.Size(waiting); err != nil {
		s.Release()
		switch {
		case waiting.Err() != nil:
			return nil, context.Cause(waiting)
		case errors.Is(err, spool.ErrNotStored):
			err = fmt.Errorf("%w: %w", err, ErrBusy)
		}
		return nil, p.currentFailure(key, err)
	}
	f := s.Reader(ctx)
	return &Zip{Package: pkg, File: f, Repository: j.repo, close: f.Close}, nil
}

// Mirror mirrors a version of a module and waits until the repository contains it or
// ctx is done. Concurrent calls share one mirror operation, which continues even if the
// callers stop waiting. Mirror returns the same errors as [Puller.Fetch] except
// [ErrStored], and uses check in the same way.
func (p *Puller) Mirror(ctx context.Context, to template.Reference, a provider.Address, v provider.Version, check func(context.Context) error) error {
	err := check(ctx)
	r := provider.Release{Address: a, Version: v}
	if err == nil && p.HasMinAge() {
		r.Published, err = p.Date(ctx, a, v)
	}
	if err != nil {
		return err
	}
	key := jobKey{to, a, v}
	j, err := p.join(key, r, check)
	if err != nil {
		return err
	}
	select {
	case <-j.done:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	if j.err != nil {
		return p.currentFailure(key, j.err)
	}
	return nil
}

// finishedZip returns a zip whose download has finished.
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
