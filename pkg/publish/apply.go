package publish

import (
	"context"
	"errors"
	"slices"

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
		BeforeTag: func(ctx context.Context) error {
			index, err := artifact.ParseIndex(packed.Index.Bytes)
			if err == nil {
				err = j.attachToPackages(ctx, f, index, r.release.Packages)
			}
			if err != nil {
				return err
			}
			c := Candidate{
				Action: ActionPublish, Release: r.release.WithDocuments(f.attestations), Index: packed.Index, Live: f.isLive(),
				Signature: r.Verdict, Unattested: f.unattested, Signer: j.options.Signing.Signer,
			}
			if j.can.Published {
				c.Action = ActionMirror
			}
			return j.runGates(ctx, c)
		},
	})
	r.Attached, r.Unattested = slices.Compact(slices.Sorted(slices.Values(f.attached))), f.unattested
	return r, err
}

// errStaged is returned instead of writing the version's tag if the release becomes
// pending.
var errStaged = errors.New("the release is staged")

// runGates runs the gates for a release whose content the repository has. If a gate holds
// the release, runGates stages it, and returns errStaged unless it was already staged.
// Gates don't run again then.
func (j *job) runGates(ctx context.Context, c Candidate) error {
	if j.options.Gates == nil {
		return nil
	}
	held, err := j.options.Gates.Enforce(ctx, j.repo, c)
	if held == nil {
		return err
	}
	wasStaged := j.options.Stage
	if j.held, j.options.Gates, j.options.Stage = held, nil, true; wasStaged {
		return nil
	}
	return errStaged
}

// results returns the results of packages.
func (f facts) results(packages []provider.Package) []PackageResult {
	var all []PackageResult
	for _, pkg := range packages {
		all = append(all, PackageResult{Package: pkg, Sent: f.sent[zipKey{pkg.Platform, pkg.Digest}].Sent})
	}
	return all
}
