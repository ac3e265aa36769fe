package publish

import (
	"context"
	"slices"

	"github.com/tofu-oci/tofu-oci/pkg/artifact"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
)

// apply does what a plan says: zips, then manifests, then the tag. It notes in the facts
// what the next round need not do again when the error is [repository.ErrTagMoved].
func (q *question) apply(ctx context.Context, f *facts, p Plan) (r Result, err error) {
	r = Result{Plan: p}
	// 1. What is refused.
	switch {
	case p.Denial != nil:
		r.Status, r.Denial = "", nil
		return r, &repository.DeniedError{Record: *p.Denial}
	case p.Conflicts != nil:
		r.Digest = p.From
		return r, &repository.ConflictError{Release: q.address.String() + " " + q.version.String(), Reasons: p.Conflicts, Foreign: f.foreign}
	case p.Status == Unchanged:
		return q.applyUnchanged(ctx, f, r)
	}
	// 2. The signature, and what it proves.
	if r.release, err = q.makeEvidence(ctx, p.release); err == nil {
		r.Verdict, err = q.judge(ctx, r.release, f.release)
	}
	r.Documents, r.Added = r.release.Documents, withoutUnmade(p.Added, r.release)
	if err != nil || q.options.DryRun {
		if p.Status == Healed {
			r.Plan = r.restoring(*f)
		}
		r.Packages = f.results(f.release.Packages)
		return r, err
	}
	return r, q.send(ctx, f, &r)
}

// applyUnchanged judges what is there again, where that is wanted. It was judged when it
// was put there.
func (q *question) applyUnchanged(ctx context.Context, f *facts, r Result) (_ Result, err error) {
	r.Digest = r.From
	var stored []provider.Package
	for _, platform := range f.unchanged() {
		stored = append(stored, f.stored.At(platform).Package(q.address, q.version))
	}
	r.Packages = f.results(stored)
	f.now = f.stored
	if f.known[needEvidence] {
		r.Verdict, err = q.judge(ctx, f.kept, f.release)
	}
	return r, err
}

// send sends the zips that the repository doesn't have, then everything else, and finally
// the tag.
func (q *question) send(ctx context.Context, f *facts, r *Result) (err error) {
	if r.Status != Replaced && f.stored.Descriptor.Digest != "" {
		f.earlier = append(slices.Clip(f.earlier), f.stored.Descriptor)
	}
	if r.release, err = q.sendZips(ctx, f, r.Plan); err != nil {
		return err
	}
	packed, err := artifact.Pack(r.release, r.index)
	if err != nil {
		return err
	}
	if f.denial == nil { // Force overrules only a denial that existed when the run started
		if err := repository.CheckDeniedNow(ctx, q.repo, q.version); err != nil {
			return err
		}
	}
	if packed.Index.Descriptor.Digest == f.stored.Digest {
		r.Plan = r.restoring(*f)
	}
	was := f.stored
	was.Tag, was.Digest = r.Tag, r.From
	isKept := func(pkg provider.Package) bool { return !slices.Contains(f.release.Platforms(), pkg.Platform) }
	own := slices.DeleteFunc(slices.Clone(r.release.Packages), isKept)
	r.Digest, r.Packages = packed.Index.Descriptor.Digest, f.results(own)
	f.now, r.Slow, err = repository.Push(ctx, q.repo, packed, was, repository.PushOptions{
		Progress: q.Progress, Own: own,
		// Other jobs publish other platforms only of local builds, and of releases that are
		// limited to some platforms.
		Concurrent: !q.can.Published || len(q.options.Platforms) > 0,
	})
	return err
}

// results says what became of packages.
func (f facts) results(packages []provider.Package) []PackageResult {
	var all []PackageResult
	for _, pkg := range packages {
		all = append(all, PackageResult{Package: pkg, Sent: f.sent[keyOf(pkg)].Sent})
	}
	return all
}
