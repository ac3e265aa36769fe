// Package publish publishes releases to OCI repositories. It compares a source's release
// with the content under the version's tag, sends the missing content, and writes the
// tag last.
//
//	mirror  = origin registry → Release → plan → OCI repository
//	publish = local zips      → Release → plan → OCI repository
//	copy    = OCI repository  → the same bytes in another OCI repository
//
// One release is published in three steps:
//
//	gather   reads the facts for the plan from the repository and the source
//	plan     decides, without I/O
//	apply    sends zips, then manifests, then the tag
//
// Use this package to publish one release from any [provider.Source], or to copy one
// release between repositories. Package mirror publishes many releases.
package publish

import (
	"cmp"
	"context"
	"errors"
	"sync"

	"github.com/tofu-oci/tofu-oci/internal/schedule"
	"github.com/tofu-oci/tofu-oci/internal/transfer"
	"github.com/tofu-oci/tofu-oci/pkg/artifact"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
	"github.com/tofu-oci/tofu-oci/pkg/source/oci"
)

// DefaultConcurrency is the default number of concurrent zip transfers. Some hosts
// throttle clients that use more transfers.
const DefaultConcurrency = 4

// maxMoves is the maximum number of retries after another run has moved the tag. A build
// matrix can publish about 14 platforms at the same time.
const maxMoves = 20

// Publisher publishes releases that share a limit on concurrent transfers and a cache
// of facts about repositories. The zero value is ready to use. A Publisher is safe for
// concurrent use.
type Publisher struct {
	// Concurrency is the maximum number of concurrent zip transfers of all releases. If
	// zero, [DefaultConcurrency] is used. Zips of up to 1 MiB are not limited.
	Concurrency int
	// TempDir is the directory for zips that must be stored temporarily until their h1
	// hash is known. If empty, the system's temporary directory is used.
	TempDir string
	// Progress reports the progress of transfers.
	Progress provider.Progress

	once    sync.Once
	acquire transfer.Acquire
	cache   runCache
}

// Release publishes one release with a new [Publisher].
func Release(ctx context.Context, src provider.Source, repo repository.Repository, a provider.Address, v provider.Version, o Options) (Result, error) {
	return new(Publisher).Release(ctx, src, repo, a, v, o)
}

// Release publishes one release from a source to a repository. Publishing the release
// again has no effect. After a failure, publishing it again completes it.
//
// Release returns errors from the source and the repository,
// *[repository.ConflictError], and, for a denied version, *[repository.DeniedError].
// Force overrides a denial, and removes it after the version has been tagged. With
// Stage, the denial remains until the release is promoted. Overrides are recorded. See
// [repository.Record].
func (p *Publisher) Release(ctx context.Context, src provider.Source, repo repository.Repository, a provider.Address, v provider.Version, o Options) (Result, error) {
	j := job{Publisher: p, src: src, can: provider.CapabilitiesOf(src), repo: p.cache.of(repo), address: a, version: v, options: o, action: ActionPublish}
	switch {
	case a.IsModule():
		j.action = ActionModule
	case j.can.Published:
		j.action = ActionMirror
	}
	f := facts{runFacts: runFacts{address: a, version: v, tag: artifact.Tag(v), release: provider.Release{Address: a, Version: v}, known: map[part]bool{}}}
	if o.Stage {
		f = f.staged(nil)
	}
	for moves := 0; ; {
		done := Result{Plan: Plan{Address: a, Version: v, Tag: f.tag}}
		plan, err := j.decide(ctx, &f)
		switch {
		case err != nil:
		case plan.Denial != nil:
			err = &repository.DeniedError{Record: *plan.Denial}
		case plan.Conflicts != nil:
			done.Plan, done.Digest = plan, plan.From
			err = &repository.ConflictError{Release: a.String() + " " + v.String(), Reasons: plan.Conflicts, Mismatch: f.foreign}
		default:
			done, err = j.apply(ctx, &f, plan)
		}
		if f.held != nil && !f.stage {
			f = f.afterMove().staged(f.held)
			continue
		}
		if done.Moved = moves; errors.Is(err, repository.ErrTagMoved) && moves < maxMoves {
			f = f.afterMove()
			if errors.Is(err, repository.ErrContentDeleted) {
				f.sent = nil
			}
			moves++
			continue
		}
		if err == nil {
			err = j.settle(ctx, f, done)
		}
		if err == nil {
			err = j.attestStored(ctx, &f, &done)
		}
		if err == nil {
			err = j.attach(ctx, f, &done)
		}
		done.Held, err = f.held, cmp.Or(err, f.held.Failure())
		done.Omitted = f.release.Omitted
		if done, err = done.orDenied(o, err); err != nil {
			j.cache.forgetSent(j.repo)
			err = &provider.Error{Op: cmp.Or(o.Operation, "publishing"), Address: a, Version: v, Err: err}
		}
		return done, err
	}
}

// settle records the use of Force, and deletes the denial and the pending tag that the
// release replaces. Commit does this itself when it writes a tag, so settle handles
// only tags that were already right.
func (j *job) settle(ctx context.Context, f facts, r Result) error {
	if j.options.DryRun || f.committed {
		return nil
	}
	f.released, f.stored = f.now, f.now
	c := j.candidate(f, artifact.Blob{Descriptor: f.now.Descriptor}, r)
	if c.Denial != nil && !f.stage {
		return j.lift(ctx, c)
	}
	if err := c.record(ctx, j.repo, state{}); err != nil || f.stage {
		return err
	}
	return c.settle(ctx, j.repo, f.now, f.tags)
}

// lift deletes the denial of a version whose tag still exists. Because this releases the
// version, lift verifies its signature and commits it, as if the tag were written.
func (j *job) lift(ctx context.Context, c Candidate) error {
	i, err := repository.Inspect(ctx, j.repo, artifact.Tag(j.version), repository.DepthManifests)
	if err != nil {
		return err
	}
	c.Index = artifact.Blob{Descriptor: i.Descriptor, Bytes: i.Bytes}
	c.Release, err = oci.FromInspection(ctx, j.repo, i, j.address, j.version, i.Index.Platforms())
	if err == nil && j.options.Verify != nil {
		c.Signature, err = j.options.Verify(ctx, c.Release)
	}
	if err != nil {
		return err
	}
	done, err := Commit(ctx, j.repo, c, func(context.Context) (repository.Inspection, error) { return i, nil })
	if err == nil && done.Held != nil {
		err = done.Held
	}
	return err
}

// decide gathers facts until they are sufficient for a plan.
func (j *job) decide(ctx context.Context, f *facts) (Plan, error) {
	for {
		p := newPlan(*f, j.policy())
		if p.needs == needNothing {
			return p, nil
		}
		if err := j.gather(ctx, f, p.needs); err != nil {
			return p, err
		}
	}
}

// transfers returns the limit on transfers that all releases share.
func (p *Publisher) transfers() transfer.Acquire {
	p.once.Do(func() {
		if p.acquire == nil {
			p.acquire = schedule.NewTransfers(p.concurrency()).Acquire
		}
	})
	return p.acquire
}

func (p *Publisher) concurrency() int { return cmp.Or(max(p.Concurrency, 0), DefaultConcurrency) }
