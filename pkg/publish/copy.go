package publish

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/tofu-oci/tofu-oci/pkg/artifact"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
	"github.com/tofu-oci/tofu-oci/pkg/source/oci"
)

// errBytes refuses options of [Copy] that would make other bytes of the release.
var errBytes = provider.Errorf(provider.Misuse, "a copy has the same bytes")

// Copy brings one release from an OCI repository into another, byte for byte: digests
// stay, and what refers to the release comes along. The status says what that came to:
//   - Created: the tag was not there;
//   - Unchanged: the tag is at the same index, or at another one that has all of the
//     source's zips and evidence of its own: that one stays, see [Result] Source;
//   - Extended: platforms or documents were added, and none is lost; or documents that
//     refer to the release, see [Result] Attached;
//   - Repaired: content that the tag needs was missing and is back;
//   - Replaced: something else was there, or would have stayed, as Force says.
//
// What would get lost is a *[repository.ConflictError]. A tag that another run moves at
// either end is copied anew.
//
// Options are those of [Release]; Judge is given what the source holds, and Recheck and
// NoH1 have no meaning here. Platforms, Index, SBOM and Signing would make other bytes:
// they are refused. Errors are those of [repository.Copy], *[repository.DeniedError], and
// those of a source for a release that is not there.
func (p *Publisher) Copy(ctx context.Context, from repository.Reader, to repository.Repository, a provider.Address, v provider.Version, o Options) (Result, error) {
	done := Result{Plan: Plan{Address: a, Version: v, Tag: artifact.Tag(v)}}
	if len(o.Platforms) > 0 || o.Index.SourceURL != "" || len(o.Index.Annotations) > 0 || o.SBOM != nil || o.Signing.Signer != nil {
		return done, errBytes
	}
	c := copying{question{Publisher: p, repo: p.memory.of(to), address: a, version: v, options: o}, from}
	// 1. Whether either side denies the version, and a quick check. Force doesn't overrule
	// the source, whose denial promote can remove.
	var f facts
	err := repository.CheckDenied(ctx, from, v)
	if err != nil {
		err = fmt.Errorf("%s: %w", from, err)
	} else if err = c.readDenial(ctx, &f); err == nil && f.denial != nil && !c.policy().overrules {
		err = &repository.DeniedError{Record: *f.denial}
	}
	there := false
	if err == nil {
		there, err = c.glance(ctx, &done)
	}
	if there || err != nil {
		return done.orDenied(o, err)
	}
	// 2. The copy, until no other run moves a tag meanwhile.
	for moves := 0; ; moves++ {
		copied, err := repository.Copy(ctx, from, c.repo, done.Tag, c.copyOptions(f))
		done = done.after(copied)
		done.Moved = moves
		if errors.Is(err, repository.ErrTagMoved) && moves < maxMoves {
			continue
		}
		if err == nil && !o.DryRun && f.denial != nil {
			err = f.denial.Remove(ctx, c.repo)
		}
		return done.orDenied(o, c.explained(ctx, err))
	}
}

// copying is what is to be copied.
type copying struct {
	question
	from repository.Reader
}

// glance reports whether the release is there, as far as Check looks, where that is less
// than a copy looks at. A list of tags that can't be had is left for the copy to tell of.
func (c *copying) glance(ctx context.Context, done *Result) (bool, error) {
	depth := c.options.depth()
	if depth > repository.DepthManifests {
		return false, nil
	}
	if c.options.Check == repository.DepthTags && !c.options.Force {
		tags, err := c.repo.Tags(ctx)
		done.Status = Unchanged
		return slices.Contains(tags, done.Tag) && err == nil, nil
	}
	there, err := repository.Inspect(ctx, c.repo, done.Tag, depth)
	if err != nil || !there.Exists() || there.Dangling || slices.ContainsFunc(there.Index.Platforms(), func(p provider.Platform) bool { return there.At(p).Err != nil }) {
		return false, err
	}
	source, err := repository.Inspect(ctx, c.from, done.Tag, repository.DepthIndex)
	if err != nil || source.Digest != there.Digest {
		return false, err
	}
	done.Status, done.Digest = Unchanged, there.Digest
	for _, platform := range provider.SortPlatforms(there.Index.Platforms()) {
		done.Packages = append(done.Packages, PackageResult{Package: there.At(platform).Package(c.address, c.version)})
	}
	return true, nil
}

func (c *copying) copyOptions(f facts) repository.CopyOptions {
	o := repository.CopyOptions{
		Provider: c.address, Aliases: c.options.Aliases, Force: c.options.Force, DryRun: c.options.DryRun, NoReferrers: c.options.NoReferrers,
		Reread: c.options.Check == repository.DepthContent, Concurrency: c.concurrency(), Acquire: c.transfers(), Progress: c.Progress,
	}
	if f.denial == nil { // Force overrules only a denial that existed at the beginning
		o.BeforeTag = func(ctx context.Context) error { return repository.CheckDeniedNow(ctx, c.repo, c.version) }
	}
	if c.options.Judge != nil {
		o.Judge = oci.JudgeCopy(c.address, c.options.Judge)
	}
	return o
}

// after says what a copy came to.
func (r Result) after(copied repository.CopyResult) Result {
	r.Digest, r.Verdict, r.Packages = copied.Digest, copied.Verdict, nil
	// A second copy finds there what the first has attached.
	r.Attached = slices.Compact(slices.Sorted(slices.Values(slices.Concat(r.Attached, copied.Attached))))
	r.Source, r.Documents = "", copied.Documents
	if copied.Kept {
		r.Source = copied.Source
	}
	nothing := copied.Was == copied.Digest && !copied.Repaired // goes along
	if nothing {
		r.Documents = nil
	}
	for _, p := range copied.Packages {
		if nothing {
			p.Package.Documents = nil
		}
		r.Packages = append(r.Packages, PackageResult{Package: p.Package, Sent: p.Sent, Mounted: p.Mounted})
	}
	switch {
	case copied.Forced:
		r.Status = Replaced
	case copied.Repaired:
		r.Status = Repaired
	case copied.Was == "":
		r.Status = Created
	case !copied.Kept && (copied.Was != copied.Digest || len(copied.Attached) > 0):
		r.Status = Extended
	default:
		r.Status = Unchanged
	}
	return r
}

// explained tells the ways apart in which a version may be missing at the source.
func (c *copying) explained(ctx context.Context, err error) error {
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
