package publish

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/tofu-oci/tofu-oci/internal/schedule"
	"github.com/tofu-oci/tofu-oci/pkg/artifact"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
	"github.com/tofu-oci/tofu-oci/pkg/source/oci"
)

// ErrBytes says that options were given to [Copy] that would make other bytes of the
// release.
var ErrBytes = provider.Errorf(provider.Misuse, "a copy has the same bytes")

// Copy brings one release from an OCI repository into another, byte for byte: digests
// stay, and what refers to the release comes along. The status says what that came to:
//   - Created: the tag was not there;
//   - Unchanged: the tag is at the same index, or at another one that has all of the
//     source's zips and evidence of its own: that one stays, see [Result] Source;
//   - Extended: platforms or documents were added, and none is lost; or documents that
//     refer to the release, see [Result] Attached;
//   - Healed: content that the tag needs was missing and is back;
//   - Replaced: something else was there, or would have stayed, as Force says.
//
// What would get lost is a *[repository.ConflictError]. A tag that another run moves at
// either end is copied anew.
//
// Options are those of [Release]; Judge is given what the source holds, and Recheck, NoH1
// and TempDir have no meaning here. Platforms, SourceURL, Annotations, SBOM and Signer
// would make other bytes: they are [ErrBytes]. Errors are those of [repository.Copy],
// *[repository.DeniedError], and those of a source for a release that is not there.
func Copy(ctx context.Context, from repository.Reader, to repository.Repository, a provider.Address, v provider.Version, o Options) (Result, error) {
	if o.Seen == nil {
		o.Seen = &Seen{}
	}
	if o.Acquire == nil {
		o.Acquire = schedule.NewTransfers(o.concurrency()).Acquire
	}
	c := copying{from: from, to: withMissing(seeing{to, o.Seen}, o), address: a, version: v, options: o, overrules: &overruling{force: o.Force}}
	return c.run(ctx)
}

// copying is what one run of [Copy] was asked for.
type copying struct {
	from      repository.Reader
	to        repository.Repository
	address   provider.Address
	version   provider.Version
	options   Options
	overrules *overruling
}

func (c copying) run(ctx context.Context) (Result, error) {
	result := Result{Address: c.address, Version: c.version, Tag: artifact.Tag(c.version)}
	if o := c.options; len(o.Platforms) > 0 || o.SourceURL != "" || len(o.Annotations) > 0 || o.SBOM != nil || o.Signer != nil {
		return result, ErrBytes
	}
	// 1. Whether either side denies the version, and a quick check. Force doesn't overrule
	// the source, whose denial promote can remove.
	if err := repository.CheckDenied(ctx, c.from, c.version); err != nil {
		return result, fmt.Errorf("%s: %w", c.from, err)
	}
	if err := c.overrules.begin(ctx, c.to, c.version); err != nil {
		return result, err
	}
	if there, err := c.glance(ctx, &result); there || err != nil {
		return result, err
	}
	// 2. The copy, until no other run moves a tag meanwhile.
	for moves := 0; ; moves++ {
		done, err := repository.Copy(ctx, c.from, c.to, result.Tag, c.copyOptions())
		result = resultOf(result, done)
		result.Moved = moves
		_, moved := errors.AsType[*repository.SourceMovedError](err)
		if !moved && !errors.Is(err, repository.ErrTagMoved) || moves == maxMoves {
			if err == nil && !c.options.DryRun {
				err = c.overrules.end(ctx, c.to)
			}
			return result, c.explained(ctx, err)
		}
	}
}

// glance tells whether the release is there, as far as Check looks, where that is less
// than a copy looks at. A list of tags that can't be had is left for the copy to tell of.
func (c copying) glance(ctx context.Context, result *Result) (bool, error) {
	depth := c.options.Check.Depth()
	if depth > repository.DepthManifests {
		return false, nil
	}
	if c.options.Check == CheckTags && !c.options.Force {
		tags, err := c.to.Tags(ctx)
		_, there := slices.BinarySearch(tags, result.Tag) // they are sorted by Seen
		result.Status = Unchanged
		return there && err == nil, nil
	}
	there, err := repository.Inspect(ctx, c.to, result.Tag, depth)
	if err != nil || !there.Exists() || there.Lost || slices.ContainsFunc(there.Index.Platforms(), func(p provider.Platform) bool { return there.At(p).Err != nil }) {
		return false, err
	}
	source, err := repository.Inspect(ctx, c.from, result.Tag, repository.DepthIndex)
	if err != nil || source.Digest != there.Digest {
		return false, err
	}
	result.Status, result.Digest = Unchanged, there.Digest
	for _, platform := range provider.SortPlatforms(there.Index.Platforms()) {
		result.Packages = append(result.Packages, PackageResult{Package: there.At(platform).Package(c.address, c.version)})
	}
	return true, nil
}

func (c copying) copyOptions() repository.CopyOptions {
	o := repository.CopyOptions{
		Provider: c.address, Aliases: c.options.Aliases, Force: c.options.Force, DryRun: c.options.DryRun, NoReferrers: c.options.NoReferrers,
		Reread: c.options.Check == CheckDeep, Concurrency: c.options.concurrency(), Acquire: c.options.Acquire,
		Admit:  func(ctx context.Context) error { return c.overrules.admit(ctx, c.to, c.version) },
		Settle: publisher{options: c.options}.settling(), Backoff: c.options.Backoff, Progress: c.options.Progress,
	}
	if c.options.Judge != nil {
		o.Judge = oci.JudgeCopy(c.address, c.options.Judge)
	}
	return o
}

// resultOf says what a copy came to.
func resultOf(r Result, done repository.Copied) Result {
	r.Digest, r.Verdict, r.Packages = done.Digest, done.Verdict, nil
	// A second copy finds there what the first has attached.
	r.Attached = slices.Compact(slices.Sorted(slices.Values(slices.Concat(r.Attached, done.Attached))))
	r.Source, r.Documents = "", done.Documents
	if done.Kept {
		r.Source = done.Source
	}
	nothing := done.Was == done.Digest && !done.Healed // goes along
	if nothing {
		r.Documents = nil
	}
	for _, p := range done.Packages {
		if nothing {
			p.Package.Documents = nil
		}
		r.Packages = append(r.Packages, PackageResult{Package: p.Package, Sent: p.Sent, Mounted: p.Mounted})
	}
	r.Status = statusOf(done)
	return r
}

func statusOf(done repository.Copied) Status {
	switch {
	case done.Forced:
		return Replaced
	case done.Healed:
		return Healed
	case done.Was == "":
		return Created
	case done.Kept:
		return Unchanged
	case done.Was != done.Digest, len(done.Attached) > 0:
		return Extended
	}
	return Unchanged
}

// explained tells the ways apart in which a version may be missing at the source.
func (c copying) explained(ctx context.Context, err error) error {
	if !errors.Is(err, repository.ErrNotFound) && !errors.Is(err, repository.ErrNoRepository) {
		return err
	}
	found, failure := repository.Inspect(ctx, c.from, artifact.Tag(c.version), repository.DepthIndex)
	if failure != nil || found.Exists() {
		return err
	}
	src := oci.New(func(provider.Address) (repository.Reader, error) { return c.from, nil }, c.options.Aliases...)
	if _, missing := src.Release(ctx, c.address, c.version); missing != nil {
		return missing
	}
	return err
}
