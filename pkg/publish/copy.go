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

// errBytes is returned for options of [Publisher.Copy] that would change the bytes of the release.
var errBytes = provider.Errorf(provider.Misuse, "a copy can't change the content of a release")

// Copy copies one release between OCI repositories, byte for byte. Digests stay the
// same, and referrers are copied, too. The status of the result is one of these:
//
//   - Created: the tag did not exist.
//   - Unchanged: the tag points to the same index, or to a different index that has all zips of
//     the source and additional documents. Copy keeps the different index. See [Result] Source.
//   - Extended: platforms, documents, or referrers were added, and nothing was lost. See
//     [Result] Attached.
//   - Repaired: missing or damaged content was restored.
//   - Replaced: the tag pointed to an index with different content, which Force replaced.
//
// If copying would lose content, Copy returns a *[repository.ConflictError]. If another
// run moves the tag at the source or the target, Copy starts again.
//
// Options have the same meaning as for [Release]. Verify receives the source's release.
// Recheck and NoH1 have no effect. Platforms, Index, SBOM, and Signing would change the
// content, so they cause an error. Copy returns the errors of [repository.Copy],
// *[repository.DeniedError], and, if the release is missing, the source's error.
func (p *Publisher) Copy(ctx context.Context, from repository.Reader, to repository.Repository, a provider.Address, v provider.Version, o Options) (Result, error) {
	done := Result{Plan: Plan{Address: a, Version: v, Tag: artifact.Tag(v)}}
	if len(o.Platforms) > 0 || o.Index.SourceURL != "" || len(o.Index.Annotations) > 0 || o.SBOM != nil || o.Signing.Signer != nil {
		return done, errBytes
	}
	c := copying{job{Publisher: p, repo: p.memory.of(to), address: a, version: v, options: o}, from}
	// 1. Check the denials of both sides, and run a quick check. Force doesn't override
	// a denial at the source. To remove this denial, use promote.
	var f facts
	err := repository.CheckDenied(ctx, from, v)
	if err != nil {
		err = fmt.Errorf("%s: %w", from, err)
	} else if err = c.readDenial(ctx, &f); err == nil && f.denial != nil && !c.policy().overrules {
		err = &repository.DeniedError{Record: *f.denial}
	}
	exists := false
	if err == nil {
		exists, err = c.quickCheck(ctx, &done)
	}
	if exists || err != nil {
		return done.orDenied(o, err)
	}
	// 2. Copy the release. Repeat the copy if another run moves a tag at the same time.
	for moves := 0; ; moves++ {
		copied, err := repository.Copy(ctx, from, c.repo, done.Tag, c.copyOptions(f))
		done = done.withCopy(copied)
		done.Moved = moves
		if errors.Is(err, repository.ErrTagMoved) && moves < maxMoves {
			continue
		}
		if err == nil && !o.DryRun && f.denial != nil {
			err = f.denial.Remove(ctx, c.repo)
		}
		return done.orDenied(o, c.explainMissing(ctx, err))
	}
}

// copying identifies the release to copy and its source.
type copying struct {
	job
	from repository.Reader
}

// quickCheck reports whether the target has the release, up to the check level. It
// checks less than a copy. If quickCheck can't read the list of tags, it returns no
// error, because the copy then reports the error.
func (c *copying) quickCheck(ctx context.Context, done *Result) (bool, error) {
	depth := c.options.depth()
	if depth > repository.DepthManifests {
		return false, nil
	}
	if c.options.Check == repository.DepthTags && !c.options.Force {
		tags, err := c.repo.Tags(ctx)
		done.Status = Unchanged
		return slices.Contains(tags, done.Tag) && err == nil, nil
	}
	target, err := repository.Inspect(ctx, c.repo, done.Tag, depth)
	if err != nil || !target.Exists() || target.Dangling || slices.ContainsFunc(target.Index.Platforms(), func(p provider.Platform) bool { return target.At(p).Err != nil }) {
		return false, err
	}
	source, err := repository.Inspect(ctx, c.from, done.Tag, repository.DepthIndex)
	if err != nil || source.Digest != target.Digest {
		return false, err
	}
	done.Status, done.Digest = Unchanged, target.Digest
	for _, platform := range provider.SortPlatforms(target.Index.Platforms()) {
		done.Packages = append(done.Packages, PackageResult{Package: target.At(platform).Package(c.address, c.version)})
	}
	return true, nil
}

func (c *copying) copyOptions(f facts) repository.CopyOptions {
	o := repository.CopyOptions{
		Provider: c.address, Aliases: c.options.Aliases, Force: c.options.Force, DryRun: c.options.DryRun, NoReferrers: c.options.NoReferrers,
		Reread: c.options.Check == repository.DepthContent, Concurrency: c.concurrency(), Acquire: c.transfers(), Progress: c.Progress,
	}
	if f.denial == nil { // Force overrides only a denial that existed at the start
		o.BeforeTag = func(ctx context.Context) error { return repository.CheckDeniedNow(ctx, c.repo, c.version) }
	}
	if c.options.Verify != nil {
		o.Verify = oci.VerifyCopy(c.address, c.options.Verify)
	}
	return o
}

// withCopy returns the result after a copy.
func (r Result) withCopy(copied repository.CopyResult) Result {
	r.Digest, r.Verdict, r.Packages = copied.Digest, copied.Verdict, nil
	// A second attempt finds the referrers that the first attempt attached.
	r.Attached = slices.Compact(slices.Sorted(slices.Values(slices.Concat(r.Attached, copied.Attached))))
	r.Source, r.Documents = "", copied.Documents
	if copied.Kept {
		r.Source = copied.Source
	}
	nothing := copied.Was == copied.Digest && !copied.Repaired
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

// explainMissing returns an error that describes why a version is missing at the
// source.
func (c *copying) explainMissing(ctx context.Context, err error) error {
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
