package pullthrough

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/tofu-oci/tofu-oci/internal/memo"
	"github.com/tofu-oci/tofu-oci/internal/serve/spool"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/publish"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
	"github.com/tofu-oci/tofu-oci/pkg/template"
)

// Puller mirrors releases on request. It is safe for concurrent use.
type Puller struct {
	options Options
	// publisher limits concurrent transfers of all releases.
	publisher *publish.Publisher
	// turns and downloads are semaphores: turns limits the number of concurrent mirror
	// operations, and downloads that of concurrent downloads.
	turns, downloads chan struct{}
	pool             *spool.Pool

	// ctx is canceled when the puller is closed. goroutines counts the goroutines that
	// use ctx.
	ctx        context.Context //nolint:containedctx // it is the context of goroutines, not of a call
	cancel     context.CancelFunc
	goroutines sync.WaitGroup

	mu     sync.Mutex
	closed bool
	// jobs contains the running and waiting jobs.
	jobs map[jobKey]*job
	// failures contains the recent failures.
	failures memo.Memo[jobKey, failure]
	// broken contains the versions that [Puller.IsBroken] reports.
	broken memo.Memo[releaseKey, struct{}]
}

// releaseKey identifies a release in its origin.
type releaseKey struct {
	address provider.Address
	version provider.Version
}

// jobKey identifies a release and its target repository.
type jobKey struct {
	to      template.Reference
	address provider.Address
	version provider.Version
}

type failure struct {
	at  time.Time
	err error
}

// New returns a puller. It sends no requests.
func New(o Options) (*Puller, error) {
	isIncomplete := len(o.Patterns) > 0 && o.Source == nil || len(o.Modules) > 0 && (o.ModuleSource == nil || o.MirrorModule == nil)
	if len(o.Patterns)+len(o.Modules) == 0 || isIncomplete || o.Open == nil {
		return nil, errors.New("pull-through: Options.Open is required, and Patterns or Modules with the corresponding sources")
	}
	if err := cmp.Or(checkHosts(o.Patterns, "registry.opentofu.org/*/*"), checkHosts(o.Modules, "registry.opentofu.org/*/*/*")); err != nil {
		return nil, err
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
	o.MaxQueue = cmp.Or(o.MaxQueue, maxQueue)
	p := &Puller{
		options: o, publisher: new(publish.Publisher), turns: make(chan struct{}, maxMirrors), downloads: make(chan struct{}, maxDownloads), pool: spool.NewPool(o.Dir, o.MaxDisk, o.Backoff),
		jobs:     map[jobKey]*job{},
		failures: memo.Memo[jobKey, failure]{Lifetime: failureAge, Size: maxFailures, SizeOf: func(failure) int64 { return 1 }, Now: o.Now},
		broken:   memo.Memo[releaseKey, struct{}]{Lifetime: brokenAge, Size: maxFailures, SizeOf: func(struct{}) int64 { return 1 }, Now: o.Now},
	}
	p.ctx, p.cancel = context.WithCancel(context.Background())
	return p, nil
}

// checkHosts returns an error if a pattern matches any host.
func checkHosts[P interface {
	fmt.Stringer
	Specificity() int
}](patterns []P, example string) error {
	for _, p := range patterns {
		if p.Specificity() == 0 {
			return fmt.Errorf("invalid pull-through pattern %q: want a host, as in %s; otherwise, clients could make the server contact any host", p, example)
		}
	}
	return nil
}

// Close cancels all mirror operations and waits until they have stopped. Canceled
// operations leave no visible changes in repositories, because the tag is written last.
func (p *Puller) Close() {
	p.mu.Lock()
	p.closed = true
	p.mu.Unlock()
	p.cancel()
	p.goroutines.Wait()
}

// Covers reports whether a provider or module can be pulled through.
func (p *Puller) Covers(a provider.Address) bool {
	if a.IsRegistryModule() {
		return slices.ContainsFunc(p.options.Modules, func(pattern provider.ModulePattern) bool { return pattern.Match(a.ASCII()) })
	}
	return slices.ContainsFunc(p.options.Patterns, func(pattern provider.Pattern) bool { return pattern.Match(a) })
}

func (p *Puller) source(a provider.Address) provider.Source {
	if a.IsRegistryModule() {
		return p.options.ModuleSource
	}
	return p.options.Source
}

// Versions returns the origin's versions. If the origin doesn't have the provider or
// module, the error is [provider.ErrProviderNotFound].
func (p *Puller) Versions(ctx context.Context, a provider.Address) ([]provider.Version, error) {
	versions, err := p.source(a).Versions(ctx, a)
	if err != nil && a.IsRegistryModule() && provider.KindOf(err) == provider.NotFound {
		err = fmt.Errorf("%w: %w", provider.ErrProviderNotFound, err)
	}
	return versions, err
}

// Release returns a release of a provider as described by its origin. If it returns a
// *[RefusedError], the returned release is still valid. It doesn't return errors from
// recent mirror operations.
func (p *Puller) Release(ctx context.Context, a provider.Address, v provider.Version) (provider.Release, error) {
	r, err := p.options.Source.Release(ctx, a, v)
	p.recordBroken(a, v, err)
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

// CheckAge returns a *[RefusedError] if a version is too young, based on its
// publication date.
func (p *Puller) CheckAge(a provider.Address, v provider.Version, published time.Time) error {
	if err := p.options.Cooldown.Check(a, v, published); err != nil {
		return &RefusedError{a, v, err}
	}
	return nil
}

// IsMissing reports whether an error means that an origin doesn't have the files of a
// release that it lists.
func IsMissing(err error) bool {
	response, ok := errors.AsType[*provider.StatusError](err)
	_, noPlatform := errors.AsType[*provider.PlatformError](err)
	return noPlatform || ok && (response.Status == http.StatusNotFound || response.Status == http.StatusGone)
}

// recordBroken records a version as broken if its files are missing or a gate denies
// it. err is the error of a job or of a request for the files.
func (p *Puller) recordBroken(a provider.Address, v provider.Version, err error) {
	if _, denied := errors.AsType[*repository.DeniedError](err); denied || IsMissing(err) {
		p.broken.Put(releaseKey{a, v}, struct{}{})
	}
}

// IsBroken reports whether the files of a version were recently missing from its origin
// or a gate denied the version. Clients can't install such versions, so they should not
// be listed.
func (p *Puller) IsBroken(a provider.Address, v provider.Version) bool {
	_, broken := p.broken.Lookup(releaseKey{a, v})
	return broken
}

// HasMinAge reports whether a minimum age is set.
func (p *Puller) HasMinAge() bool { return p.options.Cooldown.MinAge > 0 }

// Date returns a version's publication date. If the origin provides no date, it returns
// the zero time.
func (p *Puller) Date(ctx context.Context, a provider.Address, v provider.Version) (time.Time, error) {
	return p.options.Cooldown.DateOf(ctx, p.source(a), a, v)
}

// verifySignature verifies a release's signature. If the policy rejects the release, it
// returns a *[RefusedError].
func (p *Puller) verifySignature(ctx context.Context, r provider.Release) (verdict provider.Verdict, err error) {
	if p.options.Publish.Verify == nil {
		return verdict, nil
	}
	verdict, err = p.options.Publish.Verify(ctx, r)
	return verdict, asRefusal(r, err)
}

// Failure returns the error of a recent mirror operation until a retry is allowed.
// Otherwise, it returns nil.
func (p *Puller) Failure(to template.Reference, a provider.Address, v provider.Version) error {
	key := jobKey{to, a, v}
	if f, found := p.failures.Lookup(key); found {
		return f.asError(key)
	}
	return nil
}

// asError returns the failure as an error for callers.
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

// currentFailure returns the error that Failure would now return to later callers.
func (p *Puller) currentFailure(key jobKey, err error) error {
	if p.ctx.Err() != nil {
		return errClosed
	}
	return failure{p.options.Now(), err}.asError(key)
}

// join returns a release's job. If necessary, it starts the job.
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
		p.recordFailure(key, err) // before finish wakes the callers, who can call Failure
		j.finish(result, err)
		p.mu.Lock()
		defer p.mu.Unlock()
		delete(p.jobs, key)
	})
	return j, nil
}

// recordFailure replaces the recorded failure of a job that has finished.
func (p *Puller) recordFailure(key jobKey, err error) {
	p.failures.Forget(key)
	p.recordBroken(key.address, key.version, err)
	if err != nil && p.ctx.Err() == nil {
		p.failures.Put(key, failure{p.options.Now(), err})
	}
}
