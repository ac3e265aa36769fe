package publish

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/tofu-oci/tofu-oci/pkg/artifact"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
	"github.com/tofu-oci/tofu-oci/pkg/source/oci"
)

// errBytes is returned for options that would make [Publisher.Copy] change the release.
var errBytes = provider.Errorf(provider.Misuse, "a copy can't change the content of a release")

// Copy copies one release between OCI repositories, byte for byte. Digests stay the
// same, and referrers are copied, too. The status of the result is one of these:
//
//   - Created: the tag did not exist.
//   - Unchanged: the tag points to the same index, or to a different index that has
//     additional documents and all of the source's zips. Copy keeps this index. See
//     [Result] Source.
//   - Extended: platforms, documents, or referrers were added, and nothing was lost.
//     See [Result] Attached.
//   - Repaired: missing or damaged content was restored.
//   - Replaced: the tag pointed to an index with different content, which Force replaced.
//
// If content would be lost, Copy returns a *[repository.ConflictError]. If another run
// moves the tag at the source or the target, Copy starts again.
//
// For a module, Copy also writes the latest tag if the source's latest tag points to the
// version.
//
// Options have the same meaning as for [Release]. Verify is called with the source's
// release. AgainstOrigin and NoH1 have no effect. If Platforms, Index, SBOM, or Signing
// is set, Copy returns an error, because these options would change the content. Copy
// also returns errors from [repository.Copy]. For a denied release, the error is a
// *[repository.DeniedError]. For a missing release, it is the source's error.
func (p *Publisher) Copy(ctx context.Context, from repository.Reader, to repository.Repository, a provider.Address, v provider.Version, o Options) (Result, error) {
	done := Result{Plan: Plan{Address: a, Version: v, Tag: artifact.Tag(v)}}
	if len(o.Platforms) > 0 || o.Index.SourceURL != "" || len(o.Index.Annotations) > 0 || o.SBOM != nil || o.Signing.Signer != nil {
		return done, errBytes
	}
	repo, tag := p.cache.of(to), done.Tag
	if a.IsModule() {
		from, repo, tag = repository.ForModuleCopy(ctx, from, repo, v)
	}
	c := copying{job{Publisher: p, repo: repo, address: a, version: v, options: o, action: ActionCopy}, from}
	if o.Import {
		c.action = ActionImport
	}
	done, err := c.copy(ctx, done)
	if err != nil {
		c.cache.forgetSent(c.repo)
	}
	if isLive := done.Tag == artifact.Tag(v) && done.Status != Denied; err == nil && isLive {
		done.Released = o.Stage
		if a.IsModule() && !o.DryRun {
			err = copyLatest(ctx, from, to, done)
		}
		done.Tag = tag
	}
	return done, err
}

func (c *copying) copy(ctx context.Context, done Result) (Result, error) {
	v, o := c.version, c.options
	// 1. Check for denials in both repositories, and run a quick check. Force doesn't
	// override a denial in the source. To remove this denial, use promote.
	f := facts{runFacts: runFacts{address: c.address, version: v, tag: artifact.Tag(v)}}
	if o.Stage {
		f = f.staged(nil)
	}
	err := repository.CheckDenied(ctx, c.from, v)
	if err != nil {
		err = fmt.Errorf("%s: %w", c.from, err)
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
		copied, err := repository.Copy(ctx, c.from, c.repo, artifact.Tag(v), c.copyOptions(&f))
		done = done.withCopy(copied)
		done.Moved = moves
		if errors.Is(err, repository.ErrTagMoved) && moves < maxMoves {
			continue
		}
		if err == nil && f.stage && (f.committed || o.DryRun && copied.Was != copied.Digest) {
			if done.Tag, done.Held = f.tag, f.held; o.DryRun {
				f.stored, err = repository.Inspect(ctx, c.repo, f.tag, repository.DepthIndex)
			}
			if f.stored.Digest == done.Digest {
				done.Status = Unchanged
			}
			return done, cmp.Or(err, f.held.Failure())
		}
		if err == nil && !o.DryRun && !f.committed {
			err = c.settleCopy(ctx, f, done)
		}
		return done.orDenied(o, c.explainMissing(ctx, err))
	}
}

// settleCopy is like settle, but inspects the tag only if settle has work to do.
func (c *copying) settleCopy(ctx context.Context, f facts, r Result) (err error) {
	if f.denial == nil && r.Status != Replaced && !slices.Contains(f.tags, artifact.PendingTag(c.version)) {
		return nil
	}
	if f.now, err = repository.Inspect(ctx, c.repo, artifact.Tag(c.version), repository.DepthIndex); err != nil {
		return err
	}
	return c.settle(ctx, f, r)
}

// copying identifies the release to copy and its source.
type copying struct {
	job
	from repository.Reader
}

// quickCheck reports whether the target has the release. If the check level requires as
// many checks as a copy performs, it returns false. If quickCheck can't read the tag
// list, it returns no error, because the copy then reports the error.
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

func (c *copying) copyOptions(f *facts) repository.CopyOptions {
	o := repository.CopyOptions{
		Provider: c.address, Aliases: c.options.Aliases, Force: c.options.Force, DryRun: c.options.DryRun, NoReferrers: c.options.NoReferrers,
		Reread: c.options.Check == repository.DepthContent, Concurrency: c.concurrency(), Acquire: c.transfers(), Progress: c.Progress,
		Once: c.cache.once(c.repo),
	}
	var verdict provider.Verdict
	o.Commit = func(ctx context.Context, t repository.Tagging, write func(context.Context) (repository.Inspection, error)) error {
		return c.commit(ctx, f, t, verdict, write)
	}
	if c.options.Verify != nil {
		o.Verify = oci.VerifyCopy(c.address, func(ctx context.Context, r provider.Release) (v provider.Verdict, err error) {
			verdict, err = c.options.Verify(ctx, r)
			return verdict, err
		})
	}
	return o
}

// commit writes the tag of a release whose content was copied. If the release is staged
// or held, commit writes its pending tag instead.
func (c *copying) commit(ctx context.Context, f *facts, t repository.Tagging, v provider.Verdict, write func(context.Context) (repository.Inspection, error)) (err error) {
	r := Result{Verdict: v}
	if t.Forced {
		r.Status = Replaced
	}
	r.release.Packages = t.Release.Packages(c.address, c.version)
	if c.options.Gates != nil && !c.options.DryRun {
		if r.release, err = oci.FromInspection(ctx, c.repo, t.Release, c.address, c.version, t.Release.Index.Platforms()); err != nil {
			return err
		}
	}
	for {
		f.released = t.Existing
		candidate := c.candidate(*f, t.Release.Root(), r)
		if c.options.DryRun {
			_, held, err := candidate.check(ctx, c.repo)
			if held != nil && !f.stage {
				*f = f.staged(held)
			}
			return err
		}
		done, err := Commit(ctx, c.repo, candidate, func(ctx context.Context) (repository.Inspection, error) {
			if !f.stage {
				return write(ctx)
			}
			return c.writePending(ctx, f, t)
		})
		if f.held = cmp.Or(f.held, done.Held); err == nil && f.held != nil && !f.stage {
			*f = f.staged(f.held)
			continue
		}
		f.committed = err == nil
		return err
	}
}

// writePending writes the pending tag. If the existing pending release would lose
// content, it returns a *[repository.ConflictError], unless Force is set.
func (c *copying) writePending(ctx context.Context, f *facts, t repository.Tagging) (pending repository.Inspection, err error) {
	if pending, err = repository.Inspect(ctx, c.repo, f.tag, repository.DepthManifests); err != nil {
		return pending, err
	}
	if d := repository.Compare(t.Release, pending); pending.Exists() && !pending.IsDenial() && !c.options.Force && len(d.Conflicts)+len(d.Loses) > 0 {
		return pending, &repository.ConflictError{Release: pending.Tag, Reasons: d.Reasons()}
	}
	if f.stored = pending; pending.Digest == t.Release.Digest {
		return pending, nil
	}
	return repository.WriteTag(ctx, c.repo, t.Release.Root(), pending.Tag, pending.Digest)
}

// withCopy returns the result, updated with the outcome of a copy.
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

// explainMissing returns an error that explains why a version is missing at the source.
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
