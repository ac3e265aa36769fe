package serve

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	svchost "github.com/hashicorp/terraform-svchost"

	"github.com/tofu-oci/tofu-oci/internal/serve/pullthrough"
	"github.com/tofu-oci/tofu-oci/pkg/artifact"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
)

// originFailing is how long an origin that did not answer is not asked the same thing
// again: clients would wait for it each time.
const originFailing = 10 * time.Second

// maxTag is the maximum length of a tag in a registry.
const maxTag = 128

// origins is what the server knows of origin registries, for as long as it believes what
// it knows of repositories.
type origins struct {
	puller   *pullthrough.Puller
	lists    *cache[provider.Address, []provider.Version]
	releases *cache[key, described]
	dates    *cache[key, time.Time]
}

// described is a release as its origin's documents have it, and why it may not be had;
// nil where it may.
type described struct {
	provider.Release
	refused error
}

// newOrigins is nil where nothing is brought from origins.
func newOrigins(o Options, known *knowledge) (*origins, error) {
	if o.PullThrough == nil {
		return nil, nil
	}
	options := *o.PullThrough
	options.Told = func(e pullthrough.Event) {
		if e.Stage == pullthrough.StageDone {
			known.stored(e)
		}
		o.Events.pulled(e)
	}
	if options.Now == nil {
		options.Now = o.Now
	}
	puller, err := pullthrough.New(options)
	if err != nil {
		return nil, err
	}
	changing := known.listings.freshness
	changing.failing, changing.asking = originFailing, make(chan struct{}, maxQuestions)
	dates := changing
	dates.maxAge, dates.events.Looked = dateAge, nil
	return &origins{
		puller:   puller,
		lists:    newCache[provider.Address](changing, "origin-versions", o.Memory/8, func(l []provider.Version) int64 { return int64(len(l)) * 96 }),
		releases: newCache[key](changing, "origin-release", o.Memory/4, described.weight),
		dates:    newCache[key](dates, "", o.Memory/16, func(time.Time) int64 { return 64 }),
	}, nil
}

func (d described) weight() int64 {
	weight := int64(len(d.Packages)) * 2048
	for _, document := range d.Documents {
		weight += int64(len(document.Bytes))
	}
	return weight
}

// originError says that an origin could not be asked.
type originError struct {
	host svchost.Hostname
	err  error
}

func (e *originError) Error() string {
	return fmt.Sprintf("asking the origin %s: %v", e.host.ForDisplay(), e.err)
}

func (e *originError) Unwrap() error { return e.err }

// versions lists what an origin has.
func (o *origins) versions(ctx context.Context, a provider.Address) ([]provider.Version, state, error) {
	versions, how, err := o.lists.get(ctx, a, func(ctx context.Context) ([]provider.Version, error) {
		return o.puller.Versions(ctx, a)
	})
	if err != nil {
		err = &originError{a.Host, err}
	}
	return versions, how, err
}

// release describes a release that an origin has.
func (o *origins) release(ctx context.Context, a provider.Address, v provider.Version) (described, state, error) {
	d, how, err := o.releases.get(ctx, key{address: a, version: v}, func(ctx context.Context) (described, error) {
		r, err := o.puller.Release(ctx, a, v)
		if refused, ok := errors.AsType[*pullthrough.RefusedError](err); ok {
			return described{r, refused}, nil
		}
		return described{Release: r}, err
	})
	if err != nil {
		err = &originError{a.Host, err}
	}
	return d, how, err
}

// isThrough reports whether missing releases of a provider are pulled from its origin for
// the caller. They would be stored as the requested address.
func (s *Server) isThrough(at place) bool {
	return s.origins != nil && s.origins.puller.Covers(at.address) && at.caller.May(at.address)
}

// lacks reports whether an error of the repositories is that they have not got what its
// origin may have.
func (s *Server) lacks(at place, err error) bool {
	absent := errors.Is(err, provider.ErrProviderNotFound) || errors.Is(err, provider.ErrVersionNotFound)
	return absent && !isForeign(err) && s.isThrough(at)
}

// decisions returns the pending and the denied versions of a provider in all repositories
// that may have it. If a repository has no list of tags, it requests the tags of the named
// versions.
func (k *knowledge) decisions(ctx context.Context, at place, maxAge time.Duration, named ...provider.Version) (all tagged, how state, err error) {
	ctx, cancel := context.WithTimeout(ctx, maxWait)
	defer cancel()
	candidates, err := k.open(at)
	if err != nil {
		return tagged{}, state{}, err
	}
	for _, in := range candidates {
		known, learned, err := k.tags(ctx, in.repo, maxAge)
		if repository.IsUnknown(err) && len(named) > 0 {
			known, learned, err = k.unlisted(ctx, in.repo, maxAge, named)
		}
		if err == nil && len(known.pending)+len(known.denied) > 0 {
			_, err = k.owner(ctx, at, listing{candidate: in, tagged: known})
		}
		switch how = how.merge(learned); {
		case repository.IsUnknown(err) || isForeign(err): // its decisions are about another provider
		case err != nil:
			return tagged{}, how, err
		default:
			all.pending, all.denied = append(all.pending, known.pending...), append(all.denied, known.denied...)
		}
	}
	return all, how, nil
}

// unlisted returns which of the versions are pending or denied in a repository without a
// list of tags.
func (k *knowledge) unlisted(ctx context.Context, repo repository.Reader, maxAge time.Duration, versions []provider.Version) (found tagged, how state, err error) {
	exists := func(tag string) bool {
		if len(tag) > maxTag || err != nil {
			return false
		}
		_, learned, failure := k.read(ctx, repo, tag, maxAge)
		how = how.merge(learned)
		if failure != nil && !isUnreadable(failure) && !isAbsent(failure) {
			err = failure
		}
		return failure == nil || isUnreadable(failure)
	}
	for _, v := range versions {
		if exists(artifact.DeniedTag(v)) {
			found.denied = append(found.denied, v)
		}
		if exists(artifact.PendingTag(v)) {
			found.pending = append(found.pending, v)
		}
	}
	return found, how, err
}

// stored adds a release that was mirrored to the cached list of its repository, so that
// clients need not wait until the tags are listed again.
func (k *knowledge) stored(e pullthrough.Event) {
	known, _ := k.listings.kept.Lookup(e.Repository)
	switch {
	case !known.answered || known.absent != nil:
		k.listings.kept.Forget(e.Repository)
	case !slices.Contains(known.value.versions, e.Version):
		known.value.newest = append([]string{artifact.Tag(e.Version)}, known.value.newest...)
		known.value.versions = provider.NewestFirst(append(slices.Clip(known.value.versions), e.Version))
		k.listings.kept.Put(e.Repository, known)
	}
	for _, key := range k.offers.kept.Keys() {
		if key.address == e.Address {
			k.offers.kept.Forget(key)
		}
	}
}
