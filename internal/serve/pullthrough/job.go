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

	"github.com/tofu-oci/tofu-oci/pkg/artifact"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/publish"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
	"github.com/tofu-oci/tofu-oci/pkg/trust"
)

// job is a release that is being mirrored.
type job struct {
	puller  *Puller
	repo    repository.Repository
	release provider.Release
	// check is called before the tag is written.
	check   func(context.Context) error
	started time.Time
	// approved is closed when the policy has let the release pass, and the repository
	// has no other one; done when the mirror has ended, with err set.
	approved, done chan struct{}
	approve        func()
	err            error

	mu sync.Mutex
	// spools are the zips that are on their way, by digest: platforms may share one.
	spools map[digest.Digest]*spool
	// pushed has the sizes of those that the repository has by now.
	pushed map[digest.Digest]int64
	// wanted counts the downloads that a client waits for; idle is closed when there
	// are none.
	waiters int
	idle    chan struct{}
}

func newJob(p *Puller, repo repository.Repository, r provider.Release, check func(context.Context) error) *job {
	j := &job{
		puller: p, repo: repo, release: r, check: check, started: p.options.Now(),
		approved: make(chan struct{}), done: make(chan struct{}), idle: make(chan struct{}),
		spools: map[digest.Digest]*spool{}, pushed: map[digest.Digest]int64{},
	}
	j.approve = sync.OnceFunc(func() { close(j.approved) })
	close(j.idle)
	return j
}

// run mirrors the release when it is its turn.
func (j *job) run(ctx context.Context) (result publish.Result, err error) {
	select {
	case j.puller.turns <- struct{}{}:
		defer func() { <-j.puller.turns }()
	case <-ctx.Done():
		return result, ctx.Err()
	}
	defer func() {
		if recovered := recover(); recovered != nil { // it would end the program
			err = fmt.Errorf("the program broke: %v", recovered)
		}
	}()
	j.puller.options.OnEvent(j.event(StageStarted))
	ctx, cancel := context.WithTimeout(ctx, maxMirror)
	defer cancel()
	if err := j.puller.CheckAge(j.release.Address, j.release.Version, j.release.Published); err != nil {
		return result, err
	}
	o := j.puller.options.Publish
	o.Judge = func(ctx context.Context, r provider.Release) (provider.Verdict, error) {
		verdict, err := j.puller.verifySignature(ctx, r)
		if err == nil {
			j.approve() // publish has looked at the tag before, and sends zips from now on
		}
		return verdict, err
	}
	result, err = j.puller.publisher.Release(ctx, jobSource{j}, trackingRepository{j.repo, j}, j.release.Address, j.release.Version, o)
	return result, asRefusal(j.release, err)
}

// end tells of the end, and lets go of what clients do not read.
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
	j.spools, j.err = map[digest.Digest]*spool{}, err
	j.mu.Unlock()
	close(j.done)
	for _, s := range spools {
		s.release()
	}
}

func (j *job) event(stage string) Event {
	return Event{Stage: stage, Address: j.release.Address, Version: j.release.Version, Repository: j.repo.String()}
}

// asRefusal tells refusals from failures.
func asRefusal(r provider.Release, err error) error {
	if _, already := errors.AsType[*RefusedError](err); already {
		return err
	}
	if refused, ok := errors.AsType[*trust.RefusedError](err); ok {
		return &RefusedError{r.Address, r.Version, refused}
	}
	if denied, ok := errors.AsType[*repository.DeniedError](err); ok {
		return &RefusedError{r.Address, r.Version, fmt.Errorf("%s %s: %w", r.Address, r.Version, denied)}
	}
	return err
}

// follow returns the download of a zip to read from, which is begun if it is not. Nil
// says that the repository has the zip, or that the mirror has ended. The caller
// releases it.
func (j *job) spoolFor(pkg provider.Package, waiters bool) *spool {
	j.mu.Lock()
	defer j.mu.Unlock()
	if s := j.spools[pkg.Digest]; s != nil {
		s.retain()
		return s
	}
	if _, isPushed := j.pushed[pkg.Digest]; isPushed || j.isDone() {
		return nil
	}
	ended := func() {}
	if waiters {
		ended = j.addWaiter()
	}
	s := newSpool(j.puller, pkg)
	j.spools[pkg.Digest] = s
	s.retain() // one for the job, one for the caller
	j.puller.goroutines.Go(func() {
		defer ended()
		s.run(j.puller.ctx)
	})
	return s
}

// want counts a download that a client waits for, until ended is called.
func (j *job) addWaiter() (ended func()) {
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

// source is the release as a source has it: what was judged, and zips that clients may
// read at the same time.
type jobSource struct{ *job }

var _ provider.Capable = jobSource{}

// Capabilities tell that the release is whole.
func (s jobSource) Capabilities() provider.Capabilities {
	return provider.Capabilities{
		Published: true,
		Platforms: func(context.Context, provider.Address, provider.Version) ([]provider.Platform, error) {
			return provider.SortPlatforms(s.job.release.Platforms()), nil
		},
	}
}

// Versions has the one version.
func (s jobSource) Versions(context.Context, provider.Address) ([]provider.Version, error) {
	return []provider.Version{s.job.release.Version}, nil
}

// Release is the release.
func (s jobSource) Release(context.Context, provider.Address, provider.Version, ...provider.Platform) (provider.Release, error) {
	return s.job.release, nil
}

// Open reads a zip while it comes. One that no client waits for begins when none is
// waited for any more, and one that the disk has no room for is not kept on its way.
func (s jobSource) Open(ctx context.Context, pkg provider.Package) (io.ReadCloser, int64, error) {
	if err := s.waitForClients(ctx, pkg); err != nil {
		return nil, 0, err
	}
	sp := s.spoolFor(pkg, false)
	if sp == nil {
		return s.puller.options.Source.Open(ctx, pkg)
	}
	size, err := sp.size(ctx)
	if err == nil {
		return sp.reader(ctx, pkg), size, nil
	}
	sp.release()
	if errors.Is(err, errNoRoom) {
		return s.puller.options.Source.Open(ctx, pkg)
	}
	return nil, 0, err
}

// first lets the zips go first that clients wait for.
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

// pushing is the repository that the release goes to. It knows which zips it has.
type trackingRepository struct {
	repository.Repository
	job *job
}

// PushTag writes the tag, unless the release was staged or denied in the meantime.
func (p trackingRepository) PushTag(ctx context.Context, index artifact.Blob, tag string, was digest.Digest) error {
	if err := p.job.check(ctx); err != nil {
		return err
	}
	return p.Repository.PushTag(ctx, index, tag, was)
}

// PushBlob stores a blob, and lets go of its download.
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
		s.release()
	}
	return nil
}
