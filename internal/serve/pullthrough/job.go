package pullthrough

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/tofu-oci/tofu-oci/internal/serve/spool"
	"github.com/tofu-oci/tofu-oci/pkg/artifact"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/publish"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
	"github.com/tofu-oci/tofu-oci/pkg/sums"
	"github.com/tofu-oci/tofu-oci/pkg/trust"
)

// job mirrors a release.
type job struct {
	puller  *Puller
	repo    repository.Repository
	release provider.Release
	// check is called before the tag is written.
	check   func(context.Context) error
	started time.Time
	// approved is closed when the policy has accepted the release and the repository
	// has no conflict. done is closed when the job has finished and err is set.
	approved, done chan struct{}
	approve        func()
	err            error

	mu sync.Mutex
	// spools maps digests to downloads in progress, because platforms can share a zip.
	spools map[digest.Digest]*spool.Spool
	// pushed maps the digests of zips in the repository to their sizes.
	pushed map[digest.Digest]int64
	// waiters counts the downloads that have waiting clients. idle is closed when the
	// count is zero.
	waiters int
	idle    chan struct{}
}

func newJob(p *Puller, repo repository.Repository, r provider.Release, check func(context.Context) error) *job {
	j := &job{
		puller: p, repo: repo, release: r, check: check, started: p.options.Now(),
		approved: make(chan struct{}), done: make(chan struct{}), idle: make(chan struct{}),
		spools: map[digest.Digest]*spool.Spool{}, pushed: map[digest.Digest]int64{},
	}
	j.approve = sync.OnceFunc(func() { close(j.approved) })
	close(j.idle)
	return j
}

// run mirrors the release when a slot is free.
func (j *job) run(ctx context.Context) (result publish.Result, err error) {
	select {
	case j.puller.turns <- struct{}{}:
		defer func() { <-j.puller.turns }()
	case <-ctx.Done():
		return result, ctx.Err()
	}
	defer func() {
		if recovered := recover(); recovered != nil { // without recover, a panic would terminate the program
			err = fmt.Errorf("internal error: %v", recovered)
		}
	}()
	j.puller.options.OnEvent(j.event(StageStarted))
	ctx, cancel := context.WithTimeout(ctx, maxMirror)
	defer cancel()
	if err := j.puller.CheckAge(j.release.Address, j.release.Version, j.release.Published); err != nil {
		return result, err
	}
	o, a, v := j.puller.options.Publish, j.release.Address, j.release.Version
	repo := trackingRepository{j.repo, j}
	if a.IsRegistryModule() {
		// The module might have been mirrored since the caller checked. With this
		// depth, a package from the same origin isn't downloaded again.
		o.Check = repository.DepthIndex
		result, err = j.puller.options.MirrorModule(ctx, repo, a, v, o)
	} else {
		o.Verify = func(ctx context.Context, r provider.Release) (provider.Verdict, error) {
			verdict, err := j.puller.verifySignature(ctx, r)
			if err == nil {
				j.approve() // publish has already checked the tag and will now send zips
			}
			return verdict, err
		}
		result, err = j.puller.publisher.Release(ctx, jobSource{j}, repo, a, v, o)
	}
	if err == nil && result.Held != nil {
		err = result.Held
	}
	return result, asRefusal(j.release, err)
}

// finish reports the result and releases the downloads that no client reads.
func (j *job) finish(result publish.Result, err error) {
	e := j.event(StageDone)
	e.Status, e.Verdict, e.Duration = result.Status, result.Verdict, j.puller.options.Now().Sub(j.started)
	for _, p := range result.Packages {
		if p.Sent {
			e.Bytes += p.Package.Size
		}
	}
	if e.Err = err; err != nil {
		e.Stage = StageFailed
	}
	if _, refused := errors.AsType[*RefusedError](err); refused {
		e.Stage = StageRefused
	}
	j.puller.options.OnEvent(e)
	j.mu.Lock()
	spools := j.spools
	j.spools, j.err = map[digest.Digest]*spool.Spool{}, err
	j.mu.Unlock()
	close(j.done)
	for _, s := range spools {
		s.Release()
	}
}

func (j *job) event(stage string) Event {
	return Event{Stage: stage, Address: j.release.Address, Version: j.release.Version, Repository: j.repo.String()}
}

// asRefusal converts an error that is a rejection to a *[RefusedError].
func asRefusal(r provider.Release, err error) error {
	if _, already := errors.AsType[*RefusedError](err); already {
		return err
	}
	if refused, ok := errors.AsType[*trust.RefusedError](err); ok {
		return &RefusedError{r.Address, r.Version, refused}
	}
	if held, ok := errors.AsType[*publish.HeldError](err); ok {
		return &RefusedError{r.Address, r.Version, fmt.Errorf("%s %s: %w", r.Address, r.Version, held)}
	}
	if denied, ok := errors.AsType[*repository.DeniedError](err); ok {
		return &RefusedError{r.Address, r.Version, fmt.Errorf("%s %s: %w", r.Address, r.Version, denied)}
	}
	return err
}

// spoolFor returns a zip's download. If necessary, it starts the download. isWanted
// reports whether a client waits for the download. If the zip is in the repository or
// the job has finished, spoolFor returns nil. The caller must release the result.
func (j *job) spoolFor(pkg provider.Package, isWanted bool) *spool.Spool {
	j.mu.Lock()
	defer j.mu.Unlock()
	if s := j.spools[pkg.Digest]; s != nil {
		s.Retain()
		return s
	}
	if _, isPushed := j.pushed[pkg.Digest]; isPushed || j.isDone() {
		return nil
	}
	removeWaiter := func() {}
	if isWanted {
		removeWaiter = j.addWaiter()
	}
	s := j.puller.pool.New(pkg.Filename, func(ctx context.Context) (io.ReadCloser, int64, error) {
		return j.puller.options.Source.Open(ctx, pkg)
	})
	j.spools[pkg.Digest] = s
	s.Retain() // one reference for the job, and one for the caller
	j.puller.goroutines.Go(func() {
		defer removeWaiter()
		select {
		case j.puller.downloads <- struct{}{}:
			defer func() { <-j.puller.downloads }()
		case <-j.puller.ctx.Done():
		}
		s.Run(j.puller.ctx)
	})
	return s
}

// addWaiter registers a client that waits for a download. The caller must call
// removeWaiter when the client stops waiting.
func (j *job) addWaiter() (removeWaiter func()) {
	if j.waiters == 0 {
		j.idle = make(chan struct{})
	}
	j.waiters++
	return func() {
		j.mu.Lock()
		defer j.mu.Unlock()
		if j.waiters--; j.waiters == 0 {
			close(j.idle)
		}
	}
}

func (j *job) isDone() bool {
	select {
	case <-j.done:
		return true
	default:
		return false
	}
}

// jobSource is the source of the job's verified release. It shares downloads with
// clients.
type jobSource struct{ *job }

var _ provider.Capable = jobSource{}

// Capabilities returns the capabilities of a source that lists all platforms and
// provides the origin's attestations.
func (s jobSource) Capabilities() provider.Capabilities {
	return provider.Capabilities{
		Published: true,
		Platforms: func(context.Context, provider.Address, provider.Version) ([]provider.Platform, error) {
			return provider.SortPlatforms(s.job.release.Platforms()), nil
		},
		Attestations: provider.CapabilitiesOf(s.puller.options.Source).Attestations,
	}
}

// Versions returns only the release's version.
func (s jobSource) Versions(context.Context, provider.Address) ([]provider.Version, error) {
	return []provider.Version{s.job.release.Version}, nil
}

// Release returns the job's release and ignores its arguments.
func (s jobSource) Release(context.Context, provider.Address, provider.Version, ...provider.Platform) (provider.Release, error) {
	return s.job.release, nil
}

// Open returns a zip, which might still be downloading. If no client waits for the zip,
// Open first blocks while clients wait for other zips of the release. If the disk limit
// is exceeded, Open reads the zip directly from the source.
func (s jobSource) Open(ctx context.Context, pkg provider.Package) (io.ReadCloser, int64, error) {
	if err := s.waitForClients(ctx, pkg); err != nil {
		return nil, 0, err
	}
	sp := s.spoolFor(pkg, false)
	if sp == nil {
		return s.puller.options.Source.Open(ctx, pkg)
	}
	size, err := sp.Size(ctx)
	if err == nil {
		return sums.NewReadCloser(sp.Reader(ctx), pkg.Filename, pkg.Size, pkg.Digest), size, nil
	}
	sp.Release()
	if errors.Is(err, spool.ErrNotStored) {
		return s.puller.options.Source.Open(ctx, pkg)
	}
	return nil, 0, err
}

// waitForClients blocks while clients wait for other zips of the release.
func (s jobSource) waitForClients(ctx context.Context, pkg provider.Package) error {
	for {
		s.mu.Lock()
		idle, isStarted := s.idle, s.spools[pkg.Digest] != nil
		s.mu.Unlock()
		if isStarted {
			return nil
		}
		select {
		case <-idle:
			s.mu.Lock()
			again := s.waiters > 0
			s.mu.Unlock()
			if !again {
				return nil
			}
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// trackingRepository is the target repository. It records the pushed zips.
type trackingRepository struct {
	repository.Repository
	job *job
}

// PushTag writes the tag unless the release was staged or denied during the job.
func (p trackingRepository) PushTag(ctx context.Context, index artifact.Blob, tag string, was digest.Digest) error {
	if err := p.job.check(ctx); err != nil {
		return err
	}
	return p.Repository.PushTag(ctx, index, tag, was)
}

// PushBlob pushes a blob. If that succeeds, it drops the job's reference to the blob's
// temporary file.
func (p trackingRepository) PushBlob(ctx context.Context, d ocispec.Descriptor, content io.Reader) error {
	if err := p.Repository.PushBlob(ctx, d, content); err != nil {
		return err
	}
	p.job.mu.Lock()
	s := p.job.spools[d.Digest]
	delete(p.job.spools, d.Digest)
	p.job.pushed[d.Digest] = d.Size
	p.job.mu.Unlock()
	if s != nil {
		s.Release()
	}
	return nil
}
