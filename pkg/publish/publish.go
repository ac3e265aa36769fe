package publish

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"github.com/tofu-oci/tofu-oci/internal/schedule"
	"github.com/tofu-oci/tofu-oci/internal/transfer"
	"github.com/tofu-oci/tofu-oci/pkg/artifact"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
)

// maxMoves is how often a tag that other runs move is merged again: a build
// matrix publishes some fourteen platforms at once.
const maxMoves = 20

// Release brings one release of a source into a repository. Running it again
// changes nothing; running it after a failure completes it. Errors are those of
// the source and the repository, *[repository.ConflictError], and
// *[repository.DeniedError] for a denied version. Force overrules a denial, and removes it
// once the version has its tag. With Stage, the denial stays until the release is
// promoted.
func Release(ctx context.Context, src provider.Source, repo repository.Repository, a provider.Address, v provider.Version, o Options) (Result, error) {
	if o.Seen == nil {
		o.Seen = &Seen{}
	}
	if o.Acquire == nil {
		o.Acquire = schedule.NewTransfers(o.concurrency()).Acquire
	}
	repo = withMissing(seeing{repo, o.Seen}, o)
	p := publisher{src: src, can: provider.CapabilitiesOf(src), repo: repo, address: a, version: v, options: o, overrules: &overruling{force: o.Force}}
	result, err := p.run(ctx)
	if err != nil {
		return result, &provider.Error{Doing: "publishing", Address: a, Version: v, Err: err}
	}
	return result, nil
}

// publisher is what one run of [Release] was asked for. It does not change: what
// a round has found out is in its outcome.
type publisher struct {
	src       provider.Source
	can       provider.Capabilities
	repo      repository.Repository
	address   provider.Address
	version   provider.Version
	options   Options
	overrules *overruling
	// slot is that of the zip which moves, where one does.
	slot *transfer.Slot
}

// run publishes until no other run moves the tag, and attaches the documents
// about all platforms.
func (p publisher) run(ctx context.Context) (Result, error) {
	var done outcome
	if err := p.overrules.begin(ctx, p.repo, p.version); err != nil {
		return Result{Address: p.address, Version: p.version, Tag: p.tag()}, err
	}
	tag, err := p.tagged(ctx)
	if err != nil {
		return Result{}, err
	}
	if tag != "" {
		return Result{Address: p.address, Version: p.version, Tag: tag, Status: Unchanged, Released: tag != p.tag()}, nil
	}
	for moves := 0; ; moves++ {
		done, err = p.round(ctx, done.learned)
		done.result.Moved = moves
		if !errors.Is(err, repository.ErrTagMoved) || moves == maxMoves {
			break
		}
	}
	if err == nil && !p.options.DryRun && !p.options.Stage {
		err = p.overrules.end(ctx, p.repo)
	}
	if err != nil || p.options.DryRun || p.options.NoReferrers || done.index.Descriptor.Digest == "" || done.result.Tag != p.tag() {
		return done.result, err
	}
	return p.attach(ctx, done)
}

// tag is the one that is written.
func (p publisher) tag() string {
	if p.options.Stage {
		return artifact.PendingTag(p.version)
	}
	return artifact.Tag(p.version)
}

// tagged gives the tag that is there, where that is all that is looked at: the version's,
// or the one that is to be written.
func (p publisher) tagged(ctx context.Context) (string, error) {
	if p.options.Check != CheckTags || !p.can.Published || p.options.Recheck || p.options.Force {
		return "", nil
	}
	tags, err := p.repo.Tags(ctx)
	if errors.Is(err, repository.ErrNoRepository) || errors.Is(err, repository.ErrNotFound) {
		return "", nil
	}
	for _, tag := range []string{artifact.Tag(p.version), p.tag()} {
		if _, there := slices.BinarySearch(tags, tag); there { // they are sorted by Seen
			return tag, err
		}
	}
	return "", err
}

func (o Options) concurrency() int { return cmp.Or(max(o.Concurrency, 0), DefaultConcurrency) }

func (p publisher) retrier() transfer.Retrier {
	return transfer.Retrier{Backoff: p.options.Backoff, Progress: p.options.Progress, Slot: p.slot}
}
