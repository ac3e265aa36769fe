package serve

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

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
	// opened are repositories that have answered: they keep tokens and connections.
	opened    *memory[placeKey, []repository.Reader]
	listings  *recent[placeKey, listing]
	indexes   *recent[versionKey, index]
	manifests *recent[targetKey, target]
	evidence  *recent[targetKey, evidence]
	offers    *recent[placeKey, offer]
	signer    Signer
}

type placeKey struct {
	view    *view
	address provider.Address
}

type versionKey struct {
	placeKey
	version provider.Version
}

// targetKey names what never changes: a platform of an index. The provider stands in
// it since what may be said of an index depends on who it is for.
type targetKey struct {
	versionKey
	index    digest.Digest
	platform provider.Platform
}

func (p place) key() placeKey { return placeKey{p.view, p.address} }

// listing is the versions of a provider, and where they lie.
type listing struct {
	repo repository.Reader
	// choice counts the repositories that could have had it and came before.
	choice   int
	versions []provider.Version
	// pending are those that wait for approval; no client sees them.
	pending []provider.Version
	// denied are those of which somebody said so; they do not come from their origin
	// unasked.
	denied []provider.Version
}

// settled are the versions that no origin is asked for.
func (l listing) settled() []provider.Version { return slices.Concat(l.versions, l.pending, l.denied) }

// index is what the tag of a version names.
type index struct {
	repository.Inspection
	repo    repository.Reader
	version provider.Version
	weight  int64
}

// target is the package of a platform, as its manifest has it.
type target struct {
	repo repository.Reader
	zip  ocispec.Descriptor
	// pkg is what is known of it beside.
	pkg provider.Package
}

func newKnowledge(o Options) *knowledge {
	asking := make(chan struct{}, maxQuestions)
	changing := freshness{maxAge: o.MaxAge, staleIfError: o.StaleIfError, now: o.Now, asking: asking}
	forever := freshness{now: o.Now, asking: asking}
	k := &knowledge{
		openOne:   o.Open,
		opened:    newMemory[placeKey, []repository.Reader](o.Memory / 8),
		listings:  newRecent[placeKey](changing, o.Memory/8, func(l listing) int64 { return int64(len(l.settled())) * 96 }, isAbsent),
		indexes:   newRecent[versionKey](changing, o.Memory*3/8, func(i index) int64 { return i.weight }, isAbsent),
		manifests: newRecent[targetKey](forever, o.Memory/8, func(target) int64 { return 1 << 10 }, isNever),
		evidence:  newRecent[targetKey](forever, o.Memory/4, evidence.weight, isLeftOut),
		offers:    newRecent[placeKey](changing, o.Memory/8, offer.weight, isAbsent),
		signer:    o.Signer,
	}
	k.tell(o.Events)
	return k
}

// tell lets the memories say what they are asked, and what they could not learn. A list
// of offers is made of the others, which tell of its failures.
func (k *knowledge) tell(e Events) {
	k.listings.looked, k.listings.failed = e.looks("tags"), e.failed
	k.indexes.looked, k.indexes.failed = e.looks("index"), e.failed
	k.manifests.looked, k.manifests.failed = e.looks("manifest"), e.failed
	k.evidence.looked, k.evidence.failed = e.looks("evidence"), e.failed
	k.offers.looked = e.looks("versions")
}

// isAbsent tells of errors that are answers.
func isAbsent(err error) bool {
	_, foreign := errors.AsType[*repository.ForeignError](err)
	return foreign || errors.Is(err, provider.ErrProviderNotFound) || errors.Is(err, provider.ErrVersionNotFound)
}

func isNever(error) bool { return false }

// list gives the versions of a provider: those of the first repository that has it.
func (k *knowledge) list(ctx context.Context, at place) (listing, state, error) {
	return k.listings.get(ctx, at.key(), func(ctx context.Context) (listing, error) {
		repos, err := k.open(at)
		if err != nil {
			return listing{}, err
		}
		for choice, repo := range repos {
			tags, err := repo.Tags(ctx)
			if repository.IsUnknown(err) {
				continue // one that refuses to say is another matter: the next must not answer for it
			}
			if err != nil {
				return listing{}, err
			}
			k.opened.put(at.key(), repos, 8<<10)
			return listing{
				repo, choice, artifact.Versions(tags), artifact.PendingVersions(tags), artifact.DeniedVersions(tags),
			}, nil
		}
		return listing{}, fmt.Errorf("%w: no repository has %s", provider.ErrProviderNotFound, at.address)
	})
}

// index gives what a version is, if the list has it and it is the provider's.
func (k *knowledge) index(ctx context.Context, at place, v provider.Version) (index, state, error) {
	known, listed, err := k.list(ctx, at)
	if err != nil {
		return index{}, listed, err
	}
	if !slices.Contains(known.versions, v) {
		return index{}, listed, fmt.Errorf("%w: %s %s: %s", provider.ErrVersionNotFound, at.address, v, provider.SomeVersions(known.versions))
	}
	i, read, err := k.indexIn(ctx, at, known.repo, v, k.indexes.maxAge)
	return i, listed.merge(read), err
}

// indexIn is index for a version of which the repository is known.
func (k *knowledge) indexIn(ctx context.Context, at place, repo repository.Reader, v provider.Version, maxAge time.Duration) (index, state, error) {
	return k.indexes.getWithin(ctx, versionKey{at.key(), v}, maxAge, func(ctx context.Context) (index, error) {
		found, err := repository.Inspect(ctx, repo, artifact.Tag(v), repository.DepthIndex)
		switch {
		case err != nil:
			return index{}, err
		case found.Lost:
			return index{}, &repository.LostError{Tag: found.Tag, Index: ocispec.Descriptor{Digest: found.Digest}, Err: repository.ErrNotFound}
		case !found.Exists():
			return index{}, fmt.Errorf("%w: %s %s: %w", provider.ErrVersionNotFound, at.address, v, found.Absent)
		case found.Format != nil:
			return index{}, found.Format
		}
		if err := found.CheckProvider(at.address, at.aliases...); err != nil {
			return index{}, err
		}
		// Parsed, an index takes some four times the bytes that it was read from.
		weight := 4 * int64(len(found.Bytes))
		found.Bytes = nil
		return index{Inspection: found, repo: repo, version: v, weight: weight}, nil
	})
}

// target gives the package of a platform. Its manifest is read once.
func (k *knowledge) target(ctx context.Context, at place, i index, p provider.Platform) (target, error) {
	if i.Lacks(p) {
		return target{}, &provider.PlatformError{Address: at.address, Version: i.version, Wanted: p, Have: i.Index.Platforms()}
	}
	t, _, err := k.manifests.get(ctx, i.keyOf(at, p), func(ctx context.Context) (target, error) {
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

func (i index) keyOf(at place, p provider.Platform) targetKey {
	return targetKey{versionKey{at.key(), i.version}, i.Digest, p}
}
