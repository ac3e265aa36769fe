// Package publish puts releases into OCI repositories: it compares what a source
// has with what the version's tag holds, sends what is missing, and moves
// the tag last.
//
//	mirror  = origin registry → Release → plan → OCI repository
//	publish = local zips      → Release → plan → OCI repository
//	copy    = OCI repository  → the same bytes in another OCI repository
//
// One release is published in three steps:
//
//	gather   reads what the plan depends on from the repository and the source
//	plan     decides, without I/O
//	apply    sends zips, then manifests, then the tag
//
// Use it to bring one release of any [provider.Source] into a repository, or a release
// of one repository as it is into another; package mirror does so for many.
package publish

import (
	"cmp"
	"context"
	"errors"
	"sync"

	"github.com/tofu-oci/tofu-oci/internal/schedule"
	"github.com/tofu-oci/tofu-oci/internal/transfer"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
)

// DefaultConcurrency is how many zips move at once. More makes release hosts
// throttle rather than hurry.
const DefaultConcurrency = 4

// maxMoves is how often a tag that other runs move is merged again: a build
// matrix publishes some fourteen platforms at once.
const maxMoves = 20

// Publisher publishes releases that share a limit of transfers and what was learned
// of their repositories. The zero value is ready to use, by several goroutines at once.
type Publisher struct {
	// Concurrency is how many zips of all releases move at once; 0 is
	// [DefaultConcurrency]. Zips up to 1 MiB don't count.
	Concurrency int
	// TempDir is for zips that have to be kept until their h1 is known; empty
	// is the system's.
	TempDir string
	// Progress is told what moves.
	Progress provider.Progress

	once    sync.Once
	acquire transfer.Acquire
	memory  memory
}

// Release publishes one release with a [Publisher] of its own.
func Release(ctx context.Context, src provider.Source, repo repository.Repository, a provider.Address, v provider.Version, o Options) (Result, error) {
	return new(Publisher).Release(ctx, src, repo, a, v, o)
}

// Release brings one release of a source into a repository. Running it again
// changes nothing; running it after a failure completes it. Errors are those of
// the source and the repository, *[repository.ConflictError], and
// *[repository.DeniedError] for a denied version. Force overrules a denial, and removes it
// once the version has its tag. With Stage, the denial stays until the release is
// promoted.
func (p *Publisher) Release(ctx context.Context, src provider.Source, repo repository.Repository, a provider.Address, v provider.Version, o Options) (Result, error) {
	q := question{Publisher: p, src: src, can: provider.CapabilitiesOf(src), repo: p.memory.of(repo), address: a, version: v, options: o}
	f := facts{address: a, version: v, tag: q.tag(), release: provider.Release{Address: a, Version: v}, known: map[part]bool{}}
	for moves := 0; ; moves++ {
		done := Result{Plan: Plan{Address: a, Version: v, Tag: f.tag}}
		plan, err := q.decide(ctx, &f)
		switch {
		case err != nil:
		case plan.Denial != nil:
			err = &repository.DeniedError{Record: *plan.Denial}
		case plan.Conflicts != nil:
			done.Plan, done.Digest = plan, plan.From
			err = &repository.ConflictError{Release: a.String() + " " + v.String(), Reasons: plan.Conflicts, Mismatch: f.foreign}
		default:
			done, err = q.apply(ctx, &f, plan)
		}
		if done.Moved = moves; errors.Is(err, repository.ErrTagMoved) && moves < maxMoves {
			f = f.again()
			continue
		}
		if err == nil && f.denial != nil && !o.DryRun && !o.Stage {
			err = f.denial.Remove(ctx, q.repo)
		}
		if err == nil {
			err = q.attach(ctx, &f, &done)
		}
		if done, err = done.orDenied(o, err); err != nil {
			err = &provider.Error{Op: "publishing", Address: a, Version: v, Err: err}
		}
		return done, err
	}
}

// decide gathers facts until they suffice for a plan.
func (q *question) decide(ctx context.Context, f *facts) (Plan, error) {
	for {
		p := newPlan(*f, q.policy())
		if p.needs == needNothing {
			return p, nil
		}
		if err := q.gather(ctx, f, p.needs); err != nil {
			return p, err
		}
	}
}

// transfers is the limit that all releases share.
func (p *Publisher) transfers() transfer.Acquire {
	p.once.Do(func() {
		if p.acquire == nil {
			p.acquire = schedule.NewTransfers(p.concurrency()).Acquire
		}
	})
	return p.acquire
}

func (p *Publisher) concurrency() int { return cmp.Or(max(p.Concurrency, 0), DefaultConcurrency) }
