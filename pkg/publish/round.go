package publish

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/tofu-oci/tofu-oci/pkg/artifact"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
)

// outcome is what a round did, up to a tag that is ours or that another run moved.
type outcome struct {
	result Result
	// index is what the tag leads to now.
	index repository.Inspection
	// was is the state that the tag is moved from.
	was digest.Digest
	// learned is for the next round.
	learned learned
}

// learned is what the rounds of a run have found out and done so far.
type learned struct {
	// release is the source's, nil as long as it was not asked for.
	release *provider.Release
	// documents are the source's about all platforms, nil likewise.
	documents []provider.Document
	// zips are those that the repository has for certain, with what was computed
	// of them.
	zips map[zipKey]sentZip
	// earlier describes the indexes that the tag named and that were added to.
	earlier []ocispec.Descriptor
}

// round publishes once.
func (p publisher) round(ctx context.Context, known learned) (done outcome, err error) {
	done = outcome{learned: known, result: Result{Address: p.address, Version: p.version, Tag: p.tag()}}
	// 1. What lies under the tag.
	old, err := repository.Inspect(ctx, p.repo, done.result.Tag, repository.DepthIndex)
	if done.was = old.Digest; err == nil && p.options.Stage {
		old, err = p.base(ctx, old)
	}
	if err != nil {
		return done, err
	}
	done.index = old
	if err := p.checkOwner(ctx, old); err != nil {
		return done, err
	}
	// 2. Nothing more is asked for when all of it is known to be there.
	old, packages, err := p.unchanged(ctx, old)
	if packages != nil || err != nil {
		return p.judgeAgain(ctx, done.unchanged(old, packages, p.options), err)
	}
	// 3. What the source has, and what the tag holds beside it.
	if done.learned, err = p.ask(ctx, known); err != nil {
		return done, err
	}
	held, err := p.readHeld(ctx, old, *done.learned.release)
	if err != nil {
		return done, err
	}
	// 4. What that means.
	plan := newPlan(held, *done.learned.release, p.options.Force)
	done.result.Status, done.result.Dropped, done.result.Added = plan.status, plan.dropped, plan.added
	switch {
	case plan.conflicts != nil:
		done.result.Tag, done.result.Digest = old.Tag, old.Digest
		return done, p.conflict(held.foreign, plan.conflicts...)
	case plan.status == Unchanged:
		return p.judgeAgain(ctx, done.unchanged(old, p.there(held.Inspection, plan.release.Platforms()), p.options), nil)
	}
	// 5. Its signature, and whether that does.
	plan.release, done.result.Verdict, err = p.approve(ctx, plan.release, *done.learned.release)
	done.result = done.result.naming(plan.release)
	if err != nil || p.options.DryRun {
		if plan.status == Healed {
			done = done.restores(old)
		}
		done.result.Packages = results(done.learned, done.learned.release.Packages)
		return done, err
	}
	if plan.status != Replaced && old.Descriptor.Digest != "" {
		done.learned.earlier = append(slices.Clip(done.learned.earlier), old.Descriptor)
	}
	// 6. The zips that the repository lacks.
	release, zips, err := p.sendZips(ctx, plan, done.learned.zips)
	if err != nil {
		return done, err
	}
	done.learned.zips = zips
	// 7. Everything else, the tag last.
	return p.write(ctx, held.Inspection, release, done)
}

// write packs and pushes the release, and waits until the tag has settled.
func (p publisher) write(ctx context.Context, old repository.Inspection, release provider.Release, done outcome) (outcome, error) {
	packed, err := artifact.Pack(release, p.artifactOptions(old, done.result.Status))
	if err != nil {
		return done, err
	}
	if err := p.overrules.admit(ctx, p.repo, p.version); err != nil {
		return done, err
	}
	if packed.Index.Descriptor.Digest == old.Digest {
		done = done.restores(old)
	}
	began := time.Now()
	old.Tag, old.Digest = done.result.Tag, done.was
	now, err := repository.Push(ctx, p.repo, packed, old, repository.PushOptions{Backoff: p.options.Backoff, Progress: p.options.Progress})
	if err != nil {
		return done, err
	}
	writing := time.Since(began)
	done.result.Slow = writing > p.settling() && !p.alone()
	done.result.Digest = packed.Index.Descriptor.Digest
	done.result.Packages = results(done.learned, pick(release.Packages, done.learned.release.Platforms()))
	done.index, err = p.settle(ctx, done.result, now, writing)
	return done, err
}

// restores returns the outcome in which the tag of old keeps its index. A released
// version that is staged and only gets back what it lost needs no approval.
func (done outcome) restores(old repository.Inspection) outcome {
	done.result.Released = old.Tag != done.result.Tag
	done.result.Tag, done.was = old.Tag, old.Digest
	return done
}

// unchanged is the outcome of a round that found everything there.
func (done outcome) unchanged(old repository.Inspection, packages []provider.Package, o Options) outcome {
	done = done.restores(old)
	done.result.Status, done.result.Digest = Unchanged, old.Digest
	done.result.Packages = results(done.learned, packages)
	for key, value := range o.Annotations {
		done.result.AnnotationsKept = done.result.AnnotationsKept || old.Index.Annotations[key] != value
	}
	return done
}

// ask asks the source once in a run; a later round has the same answer.
func (p publisher) ask(ctx context.Context, known learned) (learned, error) {
	if known.release != nil {
		return known, nil
	}
	release, err := p.src.Release(ctx, p.address, p.version, p.options.Platforms...)
	if err != nil {
		return known, err
	}
	if release, err = p.toTell(ctx, p.toSign(release)); err != nil {
		return known, err
	}
	known.release = &release
	known.documents, err = p.documents(ctx, release)
	return known, err
}

// documents gives those of the source that are about all platforms.
func (p publisher) documents(ctx context.Context, r provider.Release) ([]provider.Document, error) {
	if p.can.Documents == nil {
		return nil, nil
	}
	return p.can.Documents(ctx, r)
}

// unchanged gives the wanted packages when all of them are there and whole, as
// far as that can be told without reading the release; and what was seen of them.
func (p publisher) unchanged(ctx context.Context, old repository.Inspection) (repository.Inspection, []provider.Package, error) {
	if !p.holds(old) {
		return old, nil, nil
	}
	wanted, digests, err := p.expected(ctx)
	if err != nil || len(wanted) == 0 || slices.ContainsFunc(wanted, old.Lacks) {
		return old, nil, err
	}
	if old, err = old.Deeper(ctx, p.repo, p.options.Check.Depth(), wanted...); err != nil {
		return old, nil, err
	}
	for _, platform := range wanted {
		f := old.At(platform)
		named := misnamed(f, p.address, p.version) == nil
		if !f.Whole() || !named || digests != nil && digests[platform] != f.Package(p.address, p.version).Digest {
			return old, nil, nil
		}
	}
	return old, p.there(old, wanted), nil
}

// there describes packages as the repository has them.
func (p publisher) there(old repository.Inspection, platforms []provider.Platform) []provider.Package {
	var packages []provider.Package
	for _, platform := range provider.SortPlatforms(platforms) {
		packages = append(packages, old.At(platform).Package(p.address, p.version))
	}
	return packages
}

// expected gives the wanted platforms and the digests to compare with. A source
// of published releases is taken at its word that a version does not change:
// digests is nil then, unless Recheck or Force ask for them. No platforms mean
// that only the release can tell, as where evidence may come after the zips.
func (p publisher) expected(ctx context.Context) (wanted []provider.Platform, digests map[provider.Platform]digest.Digest, err error) {
	wanted = p.options.Platforms
	if !p.can.Published {
		return nil, nil, nil
	}
	if p.can.Platforms != nil && !p.options.Recheck && !p.options.Force {
		if len(wanted) == 0 {
			wanted, err = p.can.Platforms(ctx, p.address, p.version)
		}
		return wanted, nil, err
	}
	if p.can.Digests == nil {
		return nil, nil, nil
	}
	if digests, err = p.can.Digests(ctx, p.address, p.version); err != nil || digests == nil {
		return nil, nil, err
	}
	if len(wanted) == 0 {
		wanted = slices.Collect(maps.Keys(digests))
	}
	return wanted, digests, nil
}

// results says what became of packages.
func results(known learned, packages []provider.Package) []PackageResult {
	var all []PackageResult
	for _, pkg := range packages {
		all = append(all, PackageResult{Package: pkg, Sent: known.zips[keyOf(pkg)].sent})
	}
	return all
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
