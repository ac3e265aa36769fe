package publish

import (
	"context"
	"slices"
	"time"

	"github.com/tofu-oci/tofu-oci/internal/bounded"
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
	// 3. The zips that the repository lacks.
	if p.Status != Replaced && f.stored.Descriptor.Digest != "" {
		f.earlier = append(slices.Clip(f.earlier), f.stored.Descriptor)
	}
	if r.release, err = q.sendZips(ctx, f, r.Plan); err != nil {
		return r, err
	}
	// 4. Everything else, the tag last.
	f.now, err = q.write(ctx, f, &r)
	return r, err
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

// write packs and pushes the release, and waits until the tag has settled.
func (q *question) write(ctx context.Context, f *facts, r *Result) (now repository.Inspection, err error) {
	packed, err := artifact.Pack(r.release, r.index)
	if err != nil {
		return now, err
	}
	if f.denial == nil { // Force overrules only a denial that existed at the beginning
		if err := repository.CheckDeniedNow(ctx, q.repo, q.version); err != nil {
			return now, err
		}
	}
	if packed.Index.Descriptor.Digest == f.stored.Digest {
		r.Plan = r.restoring(*f)
	}
	was := f.stored
	was.Tag, was.Digest = r.Tag, r.From
	began := time.Now()
	now, err = repository.Push(ctx, q.repo, packed, was, repository.PushOptions{Backoff: q.Backoff, Progress: q.Progress})
	if err != nil {
		return now, err
	}
	took := time.Since(began)
	r.Digest = packed.Index.Descriptor.Digest
	isKept := func(pkg provider.Package) bool { return !slices.Contains(f.release.Platforms(), pkg.Platform) }
	r.Packages = f.results(slices.DeleteFunc(slices.Clone(r.release.Packages), isKept))
	if err := ours(now, *r); err != nil {
		return now, err
	}
	// Jobs that publish other platforms may be at work where releases come from local
	// builds or are narrowed to some platforms, and the repository does not move tags in
	// one step. They may take twice as long between their look and their write.
	traits := q.repo.Traits()
	if traits.AtomicTags || q.can.Published && len(q.options.Platforms) == 0 {
		return now, nil
	}
	r.Slow = took > traits.Settle
	if err := bounded.Pause(ctx, max(traits.Settle, 2*took)); err != nil {
		return now, err
	}
	if now, err = repository.ReadBack(ctx, q.repo, r.Tag); err != nil {
		return now, err
	}
	return now, ours(now, *r)
}

// ours compares the tag with what this run made of it. Another run that has moved
// it since may have taken our packages in; else they are merged again.
func ours(now repository.Inspection, r Result) error {
	if now.Digest == r.Digest {
		return nil
	}
	for _, done := range r.Packages {
		t, there := now.Index.Target(done.Package.Platform)
		if d, known := t.Digest(); !there || !known || d != done.Package.Digest {
			return repository.ErrTagMoved
		}
	}
	return nil
}

// results says what became of packages.
func (f facts) results(packages []provider.Package) []PackageResult {
	var all []PackageResult
	for _, pkg := range packages {
		all = append(all, PackageResult{Package: pkg, Sent: f.sent[keyOf(pkg)].Sent})
	}
	return all
}
