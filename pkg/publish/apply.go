package publish

import (
	"cmp"
	"context"
	"slices"

	"github.com/tofu-oci/tofu-oci/pkg/artifact"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
)

// apply executes a plan. It sends zips, then manifests, and then the tag. If it returns
// [repository.ErrTagMoved], the facts record the completed work, so that the next round
// doesn't repeat this work.
func (j *job) apply(ctx context.Context, f *facts, p Plan) (r Result, err error) {
	r = Result{Plan: p}
	// 1. Add the signature and the keys, and verify the signature.
	if err = j.signAndVerify(ctx, f, &r); err != nil || p.Status == Unchanged {
		return r, err
	}
	if j.options.DryRun {
		_, held, err := j.candidate(*f, artifact.Blob{}, r).check(ctx, j.repo)
		f.held = cmp.Or(f.held, held)
		return r, err
	}
	// 2. Send the zips that the repository doesn't have.
	if p.Status != Replaced && f.stored.Descriptor.Digest != "" {
		f.earlier = append(slices.Clip(f.earlier), f.stored.Descriptor)
	}
	if r.release, err = j.sendZips(ctx, f, r.Plan); err != nil {
		return r, err
	}
	// 3. Send the remaining content, and finally write the tag.
	err = repository.PushAccepted(r.index.Generic, func(generic bool) error {
		if generic && err != nil && j.Progress.Retry != nil {
			j.Progress.Retry("storing manifests in "+j.repo.String()+" with common media types", err)
		}
		r.index.Generic = generic
		if err = j.push(ctx, f, &r); err == nil && generic {
			j.cache.generic.Store(j.repo.Capabilities().Registry, true)
		}
		return err
	})
	r.Attached, r.Unattested = sortedNames(f.attached), f.unattested
	return r, err
}

func (j *job) push(ctx context.Context, f *facts, r *Result) error {
	packed, err := artifact.Pack(r.release, r.index)
	if err != nil {
		return err
	}
	if packed.Index.Descriptor.Digest == f.stored.Digest {
		r.Plan = r.restoring(*f)
		if r.Status == Replaced { // the stored index was right
			r.Status = Unchanged
		}
	}
	was := f.stored
	was.Tag, was.Digest = r.Tag, r.From
	isKept := func(pkg provider.Package) bool { return !slices.Contains(f.release.Platforms(), pkg.Platform) }
	own := slices.DeleteFunc(slices.Clone(r.release.Packages), isKept)
	r.Digest = packed.Index.Descriptor.Digest
	f.now, r.Slow, err = repository.Push(ctx, j.repo, packed, was, repository.PushOptions{
		Progress: j.Progress, Own: own,
		Concurrent: j.isConcurrent(),
		Once:       j.cache.once(j.repo),
		Resend:     j.resendZips(f, r.Plan),
		Commit: func(ctx context.Context, write func(context.Context) (repository.Inspection, error)) error {
			for i, m := range packed.Manifests {
				if err := j.attest(ctx, f, r.release.Packages[i], m.Descriptor); err != nil {
					return err
				}
			}
			done, err := Commit(ctx, j.repo, j.candidate(*f, packed.Index, *r), func(ctx context.Context) (repository.Inspection, error) {
				if err := j.complete(ctx, f, packed.Index); err != nil {
					return repository.Inspection{}, err
				}
				return write(ctx)
			})
			if f.held = cmp.Or(f.held, done.Held); err == nil && done.Held != nil && !f.stage {
				err = done.Held
			}
			f.committed = err == nil
			return err
		},
	})
	r.Packages = f.results(own)
	return err
}

// isConcurrent reports whether other jobs can publish other platforms at the same time.
// They do so only for local builds, and in runs that are limited to specific platforms.
func (j *job) isConcurrent() bool {
	return !j.address.IsModule() && (!j.can.Published || len(j.options.Platforms) > 0)
}

// candidate returns the release for [Commit].
func (j *job) candidate(f facts, index artifact.Blob, r Result) Candidate {
	c := Candidate{
		Action: j.action, Release: r.release.WithDocuments(f.attestations), Index: index, Existing: f.released, Extended: f.stored, Stage: f.stage, Held: f.held,
		Denial: f.denial, AllowPending: j.policy().overrules, Force: j.options.Force, Replaces: r.Status == Replaced, NoReferrers: j.options.NoReferrers, Gates: j.options.Gates,
		Signature: r.Verdict, Unattested: f.unattested, Signer: j.recordSigner(),
	}
	c.Release.Address, c.Release.Version = j.address, j.version
	return c
}

// signAndVerify adds the planned signature and keys, and verifies the signature of the
// release that the tag will point to. An unchanged release was verified when it was
// published, so signAndVerify verifies it again only if the plan requires this.
func (j *job) signAndVerify(ctx context.Context, f *facts, r *Result) (err error) {
	verified := f.kept
	if r.Status == Unchanged {
		var stored []provider.Package
		for _, platform := range f.unchanged() {
			stored = append(stored, f.stored.At(platform).Package(j.address, j.version))
		}
		f.now, r.Digest, r.Packages = f.stored, r.From, f.results(stored)
	} else {
		if r.release, err = j.signRelease(ctx, r.release); err != nil {
			return err
		}
		verified, r.Documents, r.Packages = r.release, r.release.Documents, f.results(f.release.Packages)
		if _, has := r.release.Document(provider.KindKeys); !has { // the planned keys belong to an unused signature
			sums, _ := r.release.Document(provider.KindSums)
			r.Added = slices.DeleteFunc(slices.Clone(r.Added), func(name string) bool { return name == keysName(sums) })
		}
		if r.Status == Repaired && j.options.DryRun {
			r.Plan = r.restoring(*f)
		}
	}
	if j.options.Verify == nil || r.Status == Unchanged && !j.policy().verifiesAgain {
		return nil
	}
	if j.can.Published {
		verified = withKeysOf(verified, f.release)
	}
	r.Verdict, err = j.options.Verify(ctx, verified)
	return err
}

// signRelease signs the release if a signer is configured and the release has no
// signature. It also adds the keys for the signature, even if that is the stored
// signature.
func (j *job) signRelease(ctx context.Context, r provider.Release) (provider.Release, error) {
	made := r
	made.Documents = slices.DeleteFunc(slices.Clone(r.Documents), func(d provider.Document) bool {
		return d.Digest == "" && (d.Kind == provider.KindKeys || d.Kind == provider.KindSignature)
	})
	sums, has := made.Document(provider.KindSums)
	if _, announced := r.Document(provider.KindKeys); announced {
		if _, has := made.Document(provider.KindKeys); !has {
			keys, err := j.keysOf(ctx, made)
			if err != nil {
				return r, err
			}
			if keys != nil {
				made.Documents = append(made.Documents, artifact.NewDocument(keysName(sums), artifact.MediaTypeKeys, keys))
			}
		}
	}
	signer := j.options.Signing.Signer
	if _, signed := made.Document(provider.KindSignature); signer == nil || !has || signed {
		return made, nil
	}
	signature, err := signer.Sign(sums.Bytes)
	if err != nil {
		return r, err
	}
	made.Documents = append(made.Documents, artifact.NewDocument(signatureName(sums), artifact.MediaTypeSignature, signature))
	if _, has := made.Document(provider.KindKeys); !has {
		made.Documents = append(made.Documents, artifact.NewDocument(keysName(sums), artifact.MediaTypeKeys, signer.Keys()))
	}
	return made, nil
}

// results returns the packages. Each result reports whether the zip was sent.
func (f facts) results(packages []provider.Package) []PackageResult {
	var all []PackageResult
	for _, pkg := range packages {
		sent := f.sent[zipKey{pkg.Platform, pkg.Digest}]
		all = append(all, PackageResult{Package: pkg, Sent: sent.Sent, Warning: sent.Warning})
	}
	return all
}
