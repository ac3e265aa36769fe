package publish

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/tofu-oci/tofu-oci/pkg/artifact"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// maxMoves is how often a tag that other runs move is merged again: a build
// matrix publishes some fourteen platforms at once.
const maxMoves = 20

// lister is a remote source that knows a version's platforms for nothing, while
// its release costs requests.
type lister interface {
	Platforms(ctx context.Context, a provider.Address, v provider.Version) ([]provider.Platform, error)
}

// digester is a source that knows the digests of all zips of a version for less
// than its release costs. A nil map means that it does not.
type digester interface {
	Digests(ctx context.Context, a provider.Address, v provider.Version) (map[provider.Platform]digest.Digest, error)
}

// Release brings one release of a source into a repository. Running it again
// changes nothing; running it after a failure completes it. Errors are those of
// the source and the repository, and *[ConflictError].
func Release(ctx context.Context, src provider.Source, repo Repository, a provider.Address, v provider.Version, o Options) (Result, error) {
	p := &publisher{src: src, repo: repo, address: a, version: v, options: o, sent: map[digest.Digest]bool{}, h1: map[digest.Digest]string{}}
	result, err := p.run(ctx)
	if err != nil {
		return result, fmt.Errorf("publishing %s %s: %w", a, v, err)
	}
	return result, nil
}

// publisher is one run of [Release].
type publisher struct {
	src     provider.Source
	repo    Repository
	address provider.Address
	version provider.Version
	options Options
	// release is kept for another round after a moved tag.
	release *provider.Release
	// sent are the zips that this run pushed.
	sent map[digest.Digest]bool
	// h1 are the hashes of zips that need not be computed again: this run did,
	// or the tag states them.
	h1 map[digest.Digest]string
	// sboms are those that this run made.
	sboms madeSBOMs
	// documents are the source's about all platforms.
	documents []provider.Attachment
	// earlier are the indexes that the tag named and that this run added to;
	// index is what it names now.
	earlier []ocispec.Descriptor
	index   ocispec.Descriptor
	// dropped are stored platforms that were left out by force; overridden tells
	// that stored evidence was.
	dropped    []provider.Platform
	overridden bool
	// creating makes a missing repository once.
	creating    sync.Once
	creationErr error
}

// run publishes until no other run moves the tag.
func (p *publisher) run(ctx context.Context) (result Result, err error) {
	if src, ok := p.src.(referrerSource); ok {
		if p.documents, err = src.Referrers(ctx, p.address, p.version); err != nil {
			return result, err
		}
	}
	for moves := 0; ; moves++ {
		result, err = p.publish(ctx)
		result.Moved = moves
		if !errors.Is(err, artifact.ErrTagMoved) || moves == maxMoves {
			break
		}
	}
	if err != nil || p.options.DryRun || p.index.Digest == "" {
		return result, err
	}
	result.Attached, err = p.attach(ctx, result.Tag)
	result.Digest = p.index.Digest
	return result, err
}

// publish is one round, up to a tag that is ours or that another run moved.
func (p *publisher) publish(ctx context.Context) (Result, error) {
	result := Result{Address: p.address, Version: p.version, Tag: artifact.Tag(p.version)}
	// 1. What lies under the tag.
	old, err := p.readStored(ctx, result.Tag)
	if err != nil {
		return result, err
	}
	p.index = old.descriptor
	// 2. Nothing more is asked for when all of it is known to be there.
	if wanted, err := p.unchanged(ctx, old); wanted != nil || err != nil {
		result.Status, result.Digest, result.AnnotationsKept = Unchanged, old.digest, p.annotationsKept(old)
		result.Packages = p.results(wanted)
		return result, err
	}
	// 3. What the source has, and what that means for the tag.
	release, err := p.readRelease(ctx)
	if err != nil {
		return result, err
	}
	if result.Status, err = p.compare(ctx, old, release); err != nil {
		return result, err
	}
	if result.Status == Unchanged {
		result.Digest, result.AnnotationsKept = old.digest, p.annotationsKept(old)
		result.Packages = p.results(release.Packages)
		return result, nil
	}
	// 4. What the tag holds beside it stays.
	p.dropped, p.overridden = nil, false
	union, err := p.merge(ctx, old, release)
	if err != nil {
		return result, err
	}
	if result.Dropped = p.dropped; len(p.dropped) > 0 || p.overridden {
		result.Status = Replaced
	}
	if result.Status != Replaced && old.descriptor.Digest != "" {
		p.earlier = append(p.earlier, old.descriptor)
	}
	if p.options.DryRun {
		result.Packages = p.results(release.Packages)
		return result, nil
	}
	// 5. The zips that the repository lacks.
	if err := p.sendZips(ctx, union); err != nil {
		return result, err
	}
	// 6. Everything else, the tag last.
	began := time.Now()
	if p.index, err = p.sendArtifact(ctx, union, old, result.Tag); err != nil {
		return result, err
	}
	result.Digest = p.index.Digest
	result.Packages = p.results(pick(union.release.Packages, release.Platforms()))
	// 7. The tag is what we made it, or another run's work has to be merged.
	return result, p.settle(ctx, result, time.Since(began))
}

// unchanged gives the wanted packages when all of them are there and whole, as
// far as that can be told without reading the release.
func (p *publisher) unchanged(ctx context.Context, old *stored) ([]provider.Package, error) {
	if old.digest == "" || old.foreign(p.address) != "" {
		return nil, nil
	}
	wanted, digests, err := p.expected(ctx)
	if err != nil {
		return nil, err
	}
	for _, platform := range wanted {
		if _, there := old.index.Target(platform); !there {
			return nil, nil
		}
	}
	if err := p.inspect(ctx, old, wanted); err != nil {
		return nil, err
	}
	var packages []provider.Package
	for _, platform := range provider.SortPlatforms(wanted) {
		h := old.held[platform]
		if !h.whole() || digests != nil && digests[platform] != h.manifest.Zip.Digest {
			return nil, nil
		}
		packages = append(packages, h.describe(p.address, p.version, old, platform))
	}
	return packages, nil
}

// expected gives the wanted platforms and the digests to compare with. A
// remote source is taken at its word that a version does not change: digests is
// nil then, unless Recheck or Force ask for them. No platforms mean that only
// the release can tell.
func (p *publisher) expected(ctx context.Context) (wanted []provider.Platform, digests map[provider.Platform]digest.Digest, err error) {
	remote, isLister := p.src.(lister)
	if isLister && !p.options.Recheck && !p.options.Force {
		if len(p.options.Platforms) > 0 {
			return p.options.Platforms, nil, nil
		}
		wanted, err = remote.Platforms(ctx, p.address, p.version)
		return wanted, nil, err
	}
	known, isDigester := p.src.(digester)
	if !isDigester {
		return nil, nil, nil
	}
	if digests, err = known.Digests(ctx, p.address, p.version); err != nil || digests == nil {
		return nil, nil, err
	}
	if len(p.options.Platforms) > 0 {
		return p.options.Platforms, digests, nil
	}
	return slices.Collect(maps.Keys(digests)), digests, nil
}

// readRelease asks the source once; a later round has the same answer.
func (p *publisher) readRelease(ctx context.Context) (provider.Release, error) {
	if p.release == nil {
		r, err := p.src.Release(ctx, p.address, p.version, p.options.Platforms...)
		if err != nil {
			return provider.Release{}, err
		}
		p.release = &r
	}
	return *p.release, nil
}

// annotationsKept tells whether the tag lacks annotations that were asked for.
func (p *publisher) annotationsKept(old *stored) bool {
	for key, value := range p.options.Annotations {
		if old.index.Annotations[key] != value {
			return true
		}
	}
	return false
}

func (p *publisher) results(packages []provider.Package) []PackageResult {
	var results []PackageResult
	for _, pkg := range packages {
		results = append(results, PackageResult{Package: pkg, Sent: p.sent[pkg.Digest]})
	}
	return results
}

// pick gives the packages of some platforms.
func pick(packages []provider.Package, platforms []provider.Platform) []provider.Package {
	var picked []provider.Package
	for _, pkg := range packages {
		if slices.Contains(platforms, pkg.Platform) {
			picked = append(picked, pkg)
		}
	}
	return picked
}
