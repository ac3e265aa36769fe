package pullthrough

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/tofu-oci/tofu-oci/internal/memo"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/publish"
	"github.com/tofu-oci/tofu-oci/pkg/template"
)

// Puller mirrors releases that are asked for. It is safe for concurrent use.
type Puller struct {
	options Options
	// publisher limits the zips of all releases.
	publisher *publish.Publisher
	// turns has room for a token of each mirror that runs, downloads of each zip that
	// is fetched.
	turns, downloads chan struct{}
	disk             *semaphore.Weighted

	// life ends when the puller is closed; running counts what has to end then.
	ctx        context.Context //nolint:containedctx // it is that of the puller's goroutines, and of no call
	cancel     context.CancelFunc
	goroutines sync.WaitGroup

	mu     sync.Mutex
	closed bool
	// jobs are those that run or wait.
	jobs map[jobKey]*job
	// failures has those that failed lately.
	failures memo.Memo[jobKey, failure]
}

// jobKey names a release and where it goes.
type jobKey struct {
	to      template.Reference
	address provider.Address
	version provider.Version
}

type failure struct {
	at  time.Time
	err error
}

// New makes a puller. It asks nobody anything yet.
func New(o Options) (*Puller, error) {
	if len(o.Patterns) == 0 || o.Source == nil || o.Open == nil {
		return nil, errors.New("pull-through: Options need Patterns, Source and Open")
	}
	for _, p := range o.Patterns {
		if host, _, _ := p.Fixed(); !host {
			return nil, fmt.Errorf("pull-through of %q: name the host, as in registry.opentofu.org/*/*: clients could make the server ask any machine", p)
		}
	}
	if o.MaxDisk <= 0 {
		o.MaxDisk = DefaultMaxDisk
	}
	if o.OnEvent == nil {
		o.OnEvent = func(Event) {}
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Cooldown.Now == nil {
		o.Cooldown.Now = o.Now
	}
	p := &Puller{
		options: o, publisher: new(publish.Publisher), turns: make(chan struct{}, maxMirrors), downloads: make(chan struct{}, maxDownloads), disk: semaphore.NewWeighted(o.MaxDisk),
		jobs:     map[jobKey]*job{},
		failures: memo.Memo[jobKey, failure]{Lifetime: failureAge, Size: maxFailures, SizeOf: func(failure) int64 { return 1 }, Now: o.Now},
	}
	p.ctx, p.cancel = context.WithCancel(context.Background())
	return p, nil
}

// Close ends the mirrors that are under way, and waits until they have ended. Nothing of
// them can be seen in repositories: a tag is written last.
func (p *Puller) Close() {
	p.mu.Lock()
	p.closed = true
	p.mu.Unlock()
	p.cancel()
	p.goroutines.Wait()
}

// Covers reports whether a provider is one that may be had.
func (p *Puller) Covers(a provider.Address) bool {
	return slices.ContainsFunc(p.options.Patterns, func(pattern provider.Pattern) bool { return pattern.Match(a) })
}

// Versions lists what the origin lists.
func (p *Puller) Versions(ctx context.Context, a provider.Address) ([]provider.Version, error) {
	return p.options.Source.Versions(ctx, a)
}

// Release describes a release by the documents of its origin. With a *[RefusedError] it
// is described as well; the error of one that failed lately is not told here.
func (p *Puller) Release(ctx context.Context, a provider.Address, v provider.Version) (provider.Release, error) {
	r, err := p.options.Source.Release(ctx, a, v)
	if err != nil {
		return provider.Release{}, err
	}
	var verdict provider.Verdict
	if err = p.CheckAge(a, v, r.Published); err == nil {
		verdict, err = p.verifySignature(ctx, r)
	}
	if refused, ok := errors.AsType[*RefusedError](err); ok {
		p.options.OnEvent(Event{Stage: StageRefused, Address: a, Version: v, Verdict: verdict, Err: refused})
	}
	return r, err
}

// Held says that a version of a date is held back: *[RefusedError].
func (p *Puller) CheckAge(a provider.Address, v provider.Version, published time.Time) error {
	if err := p.options.Cooldown.Check(a, v, published); err != nil {
		return &RefusedError{a, v, err}
	}
	return nil
}

// Waits reports whether versions are held back at all.
func (p *Puller) HasMinAge() bool { return p.options.Cooldown.MinAge > 0 }

// Date tells when a version was published; zero where its origin does not say.
func (p *Puller) Date(ctx context.Context, a provider.Address, v provider.Version) (time.Time, error) {
	return p.options.Cooldown.DateOf(ctx, p.options.Source, a, v)
}

// judge asks the policy about the signature of a release. What does not pass is a
// *[RefusedError].
func (p *Puller) verifySignature(ctx context.Context, r provider.Release) (verdict provider.Verdict, err error) {
	if p.options.Publish.Judge == nil {
		return verdict, nil
	}
	verdict, err = p.options.Publish.Judge(ctx, r)
	return verdict, asRefusal(r, err)
}

// Failed returns why a release could not be mirrored, for as long as it is not tried
// again; nil when nothing is known against it.
func (p *Puller) Failure(to template.Reference, a provider.Address, v provider.Version) error {
	key := jobKey{to, a, v}
	if f, found := p.failures.Lookup(key); found {
		return f.asError(key)
	}
	return nil
}

// told is the failure as callers are told of it.
func (f failure) asError(key jobKey) error {
	refused, isRefused := errors.AsType[*RefusedError](f.err)
	switch {
	case isRefused:
		return refused
	case errors.Is(f.err, ErrBusy):
		return f.err
	}
	return &FailedError{Address: key.address, Version: key.version, Again: f.at.Add(failureAge), Err: f.err}
}

// failedNow makes of an error what later callers are told too.
func (p *Puller) currentFailure(key jobKey, err error) error {
	if p.ctx.Err() != nil {
		return errClosed
	}
	return failure{p.options.Now(), err}.asError(key)
}

// join returns the mirror of a release, which is begun if there is none.
func (p *Puller) join(key jobKey, r provider.Release, check func(context.Context) error) (*job, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return nil, errClosed
	}
	if j := p.jobs[key]; j != nil {
		return j, nil
	}
	if err := p.Failure(key.to, key.address, key.version); err != nil {
		return nil, err
	}
	if len(p.jobs) >= maxMirrors+maxWaiting {
		return nil, ErrBusy
	}
	repo, err := p.options.Open(key.to)
	if err != nil {
		return nil, err
	}
	j := newJob(p, repo, r, check)
	p.jobs[key] = j
	p.goroutines.Go(func() {
		result, err := j.run(p.ctx)
		j.finish(result, err)
		p.forgetJob(key, err)
	})
	return j, nil
}

// ended forgets a mirror, and remembers why it failed.
func (p *Puller) forgetJob(key jobKey, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.jobs, key)
	p.failures.Forget(key)
	if err != nil && p.ctx.Err() == nil {
		p.failures.Put(key, failure{p.options.Now(), err})
	}
}
