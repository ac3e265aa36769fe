package serve

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/tofu-oci/tofu-oci/internal/memo"
	"github.com/tofu-oci/tofu-oci/pkg/artifact"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
	"github.com/tofu-oci/tofu-oci/pkg/template"
)

// listAge is how long a tag is believed to name what it named where only a list of
// versions depends on it: whether a release is signed hardly ever changes, and a
// provider may have hundreds.
const listAge = time.Hour

// knowledge is what the server knows of repositories. It asks for no more than an
// answer needs: a list of versions is one list of tags, a version one index.
type knowledge struct {
	openOne func(template.Reference) (repository.Reader, error)
	// failed is called with the errors of repositories that can't be opened.
	failed func(error)
	// opened are repositories that have answered: they keep tokens and connections.
	opened    memo.Memo[key, []candidate]
	listings  *cache[string, tagged]
	indexes   *cache[contentKey, index]
	manifests *cache[key, target]
	evidence  *cache[key, evidence]
	offers    *cache[key, stock]
	signer    Signer
}

// key identifies what a cache has. Fields that don't apply are zero. The provider is part
// of it because the meaning of an index depends on the provider it is requested for.
type key struct {
	view     *view
	address  provider.Address
	version  provider.Version
	index    digest.Digest
	platform provider.Platform
}

// contentKey identifies a tag or a blob in a repository. All places share the index of a
// tag, but the provider is checked for each place.
type contentKey struct{ repository, reference string }

func (p place) key() key { return key{view: p.view, address: p.address} }

// key identifies an index and, if set, its package for a platform.
func (i index) key(at place, p provider.Platform) key {
	return key{at.view, at.address, i.version, i.Digest, p}
}

// tagged has the versions in the tags of a repository.
type tagged struct {
	// newest are the tags of the newest releases, denied ones included, which determine the
	// provider of the repository.
	newest   []string
	versions []provider.Version
	// pending are those that wait for approval; no client sees them.
	pending []provider.Version
	// denied are those of which somebody said so; they do not come from their origin
	// unasked.
	denied []provider.Version
}

// listing has the versions of a provider, and their repository.
type listing struct {
	candidate
	tagged
	// stored is the address that its releases are stored as, or zero if unknown.
	stored provider.Address
}

// index is what the tag of a version names.
type index struct {
	repository.Inspection
	candidate
	version provider.Version
	// stored is the address that it is stored as, or zero if unknown.
	stored provider.Address
	weight int64
}

// target is the package of a platform, as its manifest has it.
type target struct {
	repo repository.Reader
	zip  ocispec.Descriptor
	// pkg is what is known of it beside.
	pkg provider.Package
}

func newKnowledge(o Options) *knowledge {
	changing := freshness{maxAge: o.MaxAge, staleIfError: o.StaleIfError, now: o.Now, asking: make(chan struct{}, maxQuestions), events: o.Events}
	forever := changing
	forever.maxAge = 0
	k := &knowledge{
		openOne:   o.Open,
		failed:    o.Events.failed,
		opened:    memo.Memo[key, []candidate]{Size: o.Memory / 8, SizeOf: func([]candidate) int64 { return 8 << 10 }},
		listings:  newCache[string](changing, "tags", o.Memory/8, func(t tagged) int64 { return int64(len(t.versions)+len(t.pending)+len(t.denied)) * 96 }),
		indexes:   newCache[contentKey](changing, "index", o.Memory*3/8, func(i index) int64 { return i.weight }),
		manifests: newCache[key](forever, "manifest", o.Memory/8, func(target) int64 { return 1 << 10 }),
		evidence:  newCache[key](forever, "evidence", o.Memory/4, evidence.weight),
		offers:    newCache[key](changing, "versions", o.Memory/8, stock.weight),
		signer:    o.Signer,
	}
	k.offers.failed = func(error) {} // a list is made of the answers of the other caches
	return k
}

// isAbsent tells of errors that are answers.
func isAbsent(err error) bool {
	return isForeign(err) || errors.Is(err, provider.ErrProviderNotFound) || errors.Is(err, provider.ErrVersionNotFound)
}

func isFormat(err error) bool {
	_, is := errors.AsType[*artifact.FormatError](err)
	return is
}

// isUnreadable reports whether a tag exists but points to no release that can be read.
func isUnreadable(err error) bool {
	_, isLost := errors.AsType[*repository.LostError](err)
	return isLost || isFormat(err)
}

// list returns the versions of a provider, if the caller may read it.
func (k *knowledge) list(ctx context.Context, at place) (listing, state, error) {
	known, how, err := k.find(ctx, at)
	if err := at.admitted(known.stored, err); err != nil {
		return listing{}, how, err
	}
	return known, how, nil
}

// find returns the versions of a provider in the first repository that has it. The result
// doesn't depend on the caller: an address must refer to the same provider for everyone.
func (k *knowledge) find(ctx context.Context, at place) (listing, state, error) {
	ctx, cancel := context.WithTimeout(ctx, maxWait) // for all repositories together
	defer cancel()
	candidates, err := k.open(at)
	if err != nil {
		return listing{}, state{}, err
	}
	absent := fmt.Errorf("%w: no repository has %s", provider.ErrProviderNotFound, at.address)
	for choice, in := range candidates {
		known := listing{candidate: in}
		var how state
		known.tagged, how, err = k.tags(ctx, in.repo, k.listings.maxAge)
		if repository.IsUnknown(err) {
			continue // other errors are returned: the next repository must not stand in for this one
		}
		if err == nil {
			k.opened.Put(at.key(), candidates)
			known.stored, err = k.owner(ctx, at, known)
		}
		switch {
		case err == nil:
			return known, how, nil
		case !isForeign(err):
			return listing{}, how, err
		case choice == len(candidates)-1:
			// Pull-through can't write to it either.
			return listing{}, how, fmt.Errorf("%w: %w", absent, err)
		}
	}
	return listing{}, state{}, absent
}

// tags returns the versions in the tags of a repository.
func (k *knowledge) tags(ctx context.Context, repo repository.Reader, maxAge time.Duration) (tagged, state, error) {
	return k.listings.getWithin(ctx, repo.String(), maxAge, func(ctx context.Context) (tagged, error) {
		tags, err := repo.Tags(ctx)
		known := tagged{versions: artifact.Versions(tags), pending: artifact.PendingVersions(tags), denied: artifact.DeniedVersions(tags)}
		newest, tag := artifact.Newest(tags)
		for _, v := range newest[:min(len(newest), maxUnreadable)] {
			known.newest = append(known.newest, tag(v))
		}
		return known, err
	})
}

// index returns the index of a version, if the list has it, it is the provider's, and
// the caller may read it.
func (k *knowledge) index(ctx context.Context, at place, v provider.Version) (index, state, error) {
	known, listed, err := k.find(ctx, at)
	if err == nil && slices.Contains(known.versions, v) {
		i, read, err := k.indexIn(ctx, at, known, v, k.indexes.maxAge)
		return i, listed.merge(read), err
	}
	if err = at.admitted(known.stored, err); err == nil {
		err = fmt.Errorf("%w: %s %s: %s", provider.ErrVersionNotFound, at.address, v, provider.SomeVersions(known.versions))
	}
	return index{}, listed, err
}

// indexIn is index for a version of a list.
func (k *knowledge) indexIn(ctx context.Context, at place, known listing, v provider.Version, maxAge time.Duration) (index, state, error) {
	i, how, err := k.release(ctx, at, known.candidate, v, maxAge)
	stored := i.stored
	if err != nil {
		stored = known.stored
	}
	if !at.caller.May(stored) {
		return index{}, how, at.refusal(stored)
	}
	return i, how, at.discreet(err)
}

// release is indexIn for any caller.
func (k *knowledge) release(ctx context.Context, at place, in candidate, v provider.Version, maxAge time.Duration) (index, state, error) {
	i, how, err := k.read(ctx, in.repo, artifact.Tag(v), maxAge)
	if err != nil {
		return index{}, how, err
	}
	i.candidate, i.version = in, v
	i.stored, err = at.ownerOf(i.Inspection, in.unstated)
	return i, how, err
}

// read returns the index that a tag points to, of any provider.
func (k *knowledge) read(ctx context.Context, repo repository.Reader, tag string, maxAge time.Duration) (index, state, error) {
	return k.indexes.getWithin(ctx, contentKey{repo.String(), tag}, maxAge, func(ctx context.Context) (index, error) {
		found, err := repository.Inspect(ctx, repo, tag, repository.DepthIndex)
		switch {
		case err != nil:
			return index{}, err
		case found.Lost:
			return index{}, &repository.LostError{Tag: found.Tag, Index: ocispec.Descriptor{Digest: found.Digest}, Err: repository.ErrNotFound}
		case !found.Exists():
			return index{}, fmt.Errorf("%w: the tag %s: %w", provider.ErrVersionNotFound, tag, found.Absent)
		case found.Format != nil:
			return index{}, found.Format
		}
		// Parsed, an index takes some four times the bytes that it was read from.
		weight := 4 * int64(len(found.Bytes))
		found.Bytes = nil
		return index{Inspection: found, weight: weight}, nil
	})
}

// target returns the package of a platform. Its manifest is read once.
func (k *knowledge) target(ctx context.Context, at place, i index, p provider.Platform) (target, error) {
	if i.Lacks(p) {
		return target{}, &provider.PlatformError{Address: at.address, Version: i.version, Wanted: p, Have: i.Index.Platforms()}
	}
	t, _, err := k.manifests.get(ctx, i.key(at, p), func(ctx context.Context) (target, error) {
		deeper, err := i.Deeper(ctx, i.repo, repository.DepthManifests, p)
		if err != nil {
			return target{}, err
		}
		found := deeper.Platforms[p]
		if found.Err != nil {
			return target{}, fmt.Errorf("reading the manifest of %s %s for %s: %w", at.address, i.version, p, found.Err)
		}
		pkg := found.Package(at.address, i.version)
		if err := pkg.CheckIdentity(); err != nil {
			return target{}, err
		}
		if stated, has := found.Target.Digest(); has && stated != pkg.Digest {
			return target{}, &artifact.FormatError{Problem: fmt.Sprintf("says in its index that the zip for %s is %s, and in the manifest that it is %s", p, stated, pkg.Digest)}
		}
		return target{repo: i.repo, zip: found.Manifest.Zip, pkg: pkg}, nil
	})
	return t, err
}
