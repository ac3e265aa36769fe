package publish

import (
	"context"
	"fmt"
	"slices"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/tofu-oci/tofu-oci/pkg/artifact"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
)

// apply executes a plan: zips, then manifests, then the tag. If it returns
// [repository.ErrTagMoved], the facts record the completed work, so that the next round
// doesn't repeat it.
func (j *job) apply(ctx context.Context, f *facts, p Plan) (r Result, err error) {
	r = Result{Plan: p}
	// 1. Signature and keys.
	if err = j.prove(ctx, f, &r); err != nil || p.Status == Unchanged || j.options.DryRun {
		return r, err
	}
	// 2. The zips that the repository doesn't have.
	if p.Status != Replaced && f.stored.Descriptor.Digest != "" {
		f.earlier = append(slices.Clip(f.earlier), f.stored.Descriptor)
	}
	if r.release, err = j.sendZips(ctx, f, r.Plan); err != nil {
		return r, err
	}
	// 3. The remaining content, and finally the tag.
	packed, err := artifact.Pack(r.release, r.index)
	if err != nil {
		return r, err
	}
	if f.denial == nil { // Force overrides only a denial that existed when the run started
		if err := repository.CheckDeniedNow(ctx, j.repo, j.version); err != nil {
			return r, err
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
	f.now, r.Slow, err = repository.Push(ctx, j.repo, packed, was, repository.PushOptions{
		Progress: j.Progress, Own: own,
		// Other jobs publish other platforms only if the release is a local build or is
		// limited to specific platforms.
		Concurrent: !j.can.Published || len(j.options.Platforms) > 0,
	})
	return r, err
}

// results returns the results of packages.
func (f facts) results(packages []provider.Package) []PackageResult {
	var all []PackageResult
	for _, pkg := range packages {
		all = append(all, PackageResult{Package: pkg, Sent: f.sent[zipKey{pkg.Platform, pkg.Digest}].Sent})
	}
	return all
}

// attach attaches the documents about all platforms to the index that the tag points
// to. These are the source's documents, and the referrers of earlier indexes. attach
// adds the names of new referrers to the result. Reading the tag one more time is
// sufficient, because a later run that extends the index also carries over its
// referrers.
func (j *job) attach(ctx context.Context, f *facts, r *Result) error {
	index := f.now.Descriptor
	if j.options.DryRun || j.options.NoReferrers || index.Digest == "" || r.Tag != f.tag {
		return nil
	}
	for range maxMoves {
		documents, err := j.carried(ctx, f, index)
		if err != nil {
			return err
		}
		names, err := repository.Attach(ctx, j.repo, documents, index)
		if err != nil {
			return err
		}
		r.Attached = slices.Concat(r.Attached, slices.DeleteFunc(names, func(name string) bool { return slices.Contains(r.Attached, name) }))
		r.Digest = index.Digest
		if len(names) == 0 {
			return nil
		}
		now, err := repository.Inspect(ctx, j.repo, r.Tag, repository.DepthIndex)
		if err != nil {
			return fmt.Errorf("reading the tag back: %w", err)
		}
		if now.Digest == index.Digest || now.Descriptor.Digest == "" {
			return nil
		}
		index = now.Descriptor
	}
	return fmt.Errorf("attaching documents: %w (%d attempts)", repository.ErrTagMoved, maxMoves)
}

// carried returns the source's documents, and the referrers of earlier indexes that the
// source does not replace. Approvals are not carried over, because each approval
// applies to only one index.
func (j *job) carried(ctx context.Context, f *facts, index ocispec.Descriptor) ([]provider.Document, error) {
	documents := slices.Clone(f.documents)
	// Start with the last index, which has the newest referrers.
	for _, before := range slices.Backward(f.earlier) {
		if before.Digest == index.Digest {
			continue
		}
		found, err := repository.Documents(ctx, j.repo, before.Digest)
		if err != nil {
			return nil, err
		}
		for _, d := range found {
			if d.MediaType != artifact.TypeApproval && !slices.ContainsFunc(documents, func(o provider.Document) bool { return o.Name == d.Name && o.MediaType == d.MediaType }) {
				documents = append(documents, d)
			}
		}
	}
	return documents, nil
}
