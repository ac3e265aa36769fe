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

// maxQueue is how long somebody waits until the first byte can come: for a turn, the
// repository, and the origin. Connections of HTTP/2 end after a minute of silence.
const maxQueue = 45 * time.Second

// Zip is the zip of a platform, while its release is mirrored. Whoever has one closes it.
type Zip struct {
	// Package describes it; its size is known.
	Package provider.Package
	// File has its bytes, and waits for those that are still to come. The last ones do
	// not come when they would make it another zip. It is nil where the zip is read from
	// the repository instead.
	File io.ReaderAt
	// Repository is where the release goes.
	Repository repository.Repository

	close func()
}

// Close lets go of the zip. The mirror goes on.
func (z *Zip) Close() {
	if z.close != nil {
		z.close()
	}
}

// Fetch returns a platform's zip of a release that [Puller] Release described, and mirrors
// all of the release, which goes on when the caller leaves. Several who want the same
// cause it once. ctx is also that of reading the zip. The error is [ErrStored] when the
// release is in the repository by now, a *[RefusedError] or *[FailedError] when it will
// not be, and [ErrBusy] when too much is under way.
//
// check returns a *[RefusedError] if the release is pending or denied. Fetch calls it before
// the mirror starts and before it returns a zip. The mirror calls the check of its first
// caller before it writes the tag. check may be nil.
func (p *Puller) Fetch(ctx context.Context, to template.Reference, r provider.Release, platform provider.Platform, check func(context.Context) error) (*Zip, error) {
	// 1. Is there anything to bring?
	if _, err := r.Package(platform); err != nil {
		return nil, err
	}
	if check == nil {
		check = func(context.Context) error { return nil }
	}
	if err := check(ctx); err != nil {
		return nil, err
	}
	// 2. The mirror, and its leave to begin.
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
	// 3. The download, or what has become of it.
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

// ended returns a zip that is not on its way any more.
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
