package verify

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/opencontainers/go-digest"

	"github.com/tofu-oci/tofu-oci/internal/finding"
	"github.com/tofu-oci/tofu-oci/internal/schedule"
	"github.com/tofu-oci/tofu-oci/pkg/artifact"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
	"github.com/tofu-oci/tofu-oci/pkg/source/oci"
	"github.com/tofu-oci/tofu-oci/pkg/sums"
	"github.com/tofu-oci/tofu-oci/pkg/trust"
)

// checkDocuments adds findings for packages that don't match their names or their
// SHA256SUMS. It returns the release with the matching packages.
func (a *verification) checkDocuments(ctx context.Context, found repository.Inspection) (provider.Release, error) {
	platforms := readable(found)
	if err := reserveMemory(ctx, found, platforms); err != nil || len(platforms) == 0 {
		return provider.Release{}, err
	}
	release, err := oci.FromInspection(ctx, a.repo, found, a.address, a.version, platforms)
	if err != nil {
		// One unreadable document makes the entire release unreadable.
		var sound []provider.Platform
		for _, platform := range platforms {
			_, err := oci.FromInspection(ctx, a.repo, found, a.address, a.version, []provider.Platform{platform})
			if err == nil {
				sound = append(sound, platform)
			} else if !a.contradiction(a.about(platform), err) {
				return provider.Release{}, err
			}
		}
		if len(sound) == 0 {
			return provider.Release{}, nil
		}
		release, err = oci.FromInspection(ctx, a.repo, found, a.address, a.version, sound)
		if err != nil && !a.contradiction(a.about(provider.Platform{}), err) {
			return provider.Release{}, err
		}
		if err != nil {
			return provider.Release{}, nil //nolint:nilerr // the error was added as a finding
		}
	}
	a.checkListed(release)
	return release, nil
}

// readable returns the platforms whose documents are complete.
func readable(found repository.Inspection) []provider.Platform {
	var platforms []provider.Platform
	for _, platform := range found.Index.Platforms() {
		f := found.Platforms[platform]
		complete := f.Err == nil
		for _, d := range f.Manifest.Documents {
			complete = complete && !isLost(f, d.Digest)
		}
		if complete {
			platforms = append(platforms, platform)
		}
	}
	return platforms
}

// reserveMemory waits if the documents of a release are unusually large, so that only a few
// large releases are in memory at the same time.
func reserveMemory(ctx context.Context, found repository.Inspection, platforms []provider.Platform) error {
	var total int64
	seen := map[digest.Digest]bool{}
	for _, platform := range platforms {
		for _, layer := range found.Platforms[platform].Manifest.Documents {
			if d := artifact.DocumentOf(layer, "SHA256SUMS"); d.Scope == provider.ScopeRelease && !seen[d.Digest] {
				seen[d.Digest] = true
				total += d.Size
			}
		}
	}
	if wait := schedule.ReserveMemory(ctx, total); wait != nil {
		return wait()
	}
	return nil
}

// contradiction adds a finding for an error in the content of a release. It returns
// false for other errors, such as network errors.
func (a *verification) contradiction(s reporter, err error) bool {
	if name, ok := errors.AsType[*provider.IdentityError](err); ok {
		s.addError("name-differs", fmt.Sprintf("The zip has an unexpected name: %v. OpenTofu ignores file names and installs the zip, but tofu-oci rejects it.", name), a.mirror(" --force"))
		return true
	}
	if file, ok := errors.AsType[*sums.FileError](err); ok {
		if file.Missing != "" {
			s.addError("sums-unlisted", fmt.Sprintf("The zip is not in SHA256SUMS: %v.", file), a.rebuild())
		} else {
			s.addError("sums-malformed", fmt.Sprintf("The checksums are malformed: %v.", file), a.rebuild())
		}
		return true
	}
	if mismatch, differs := errors.AsType[*sums.MismatchError](err); differs {
		if _, _, _, isPackage := provider.ParseFilename(mismatch.Name); isPackage {
			s.addError("sums-differ", fmt.Sprintf("The zip does not match SHA256SUMS: %v.", mismatch), a.rebuild())
			return true
		}
	}
	switch {
	case isDamage(err):
		s.addError("blob-damaged", fmt.Sprintf("A document is damaged: %v.", err), a.mirror(" --check-level deep"))
	case formatOf(err) != nil:
		s.addError("document-unreadable", fmt.Sprintf("A document cannot be read: %v.", err), a.rebuild())
	default:
		return false
	}
	return true
}

// checkListed adds a finding for each package without a SHA256SUMS document.
func (a *verification) checkListed(r provider.Release) {
	if _, shared := r.Document(provider.KindSums); shared || r.Address.IsModule() {
		return
	}
	for _, p := range r.Packages {
		if _, own := (provider.Release{Documents: p.Documents}).Document(provider.KindSums); !own {
			a.about(p.Platform).addWarning("sums-missing", "The package has no SHA256SUMS, so only the repository vouches for the zip.", a.rebuild())
		}
	}
}

// signature adds a finding about the signature and returns the verdict.
func (a *verification) signature(ctx context.Context, r provider.Release) (provider.Verdict, error) {
	if a.options.Verify == nil || len(r.Packages) == 0 {
		return provider.Verdict{}, nil
	}
	s := a.about(provider.Platform{})
	verdict, err := a.options.Verify(ctx, r)
	refused, isRefused := errors.AsType[*trust.RefusedError](err)
	if isRefused {
		verdict = refused.Verdict
	}
	remedy := a.rebuild()
	remedy.Hint = "ask the author which key signs the release, and pin it in the trust file or specify it with --keyring; if the stored signature is wrong, " + remedy.Hint
	switch verdict.Trust {
	case provider.TrustUnsigned:
		remedy = finding.Remedy{
			Hint:    "if the author has since signed the release, mirror it again; if you published it, publish the same zips again with --sign-key FILE",
			Command: a.fetch(" --against-origin"),
		}
		if a.address.IsModule() {
			remedy = finding.Remedy{Hint: "push the module again with --sign-key FILE"}
		}
	case provider.TrustUntrusted, provider.TrustRevoked: // fetching the release again would accept it
		remedy = finding.Remedy{Hint: "ask the author which key signs the release, and pin it in the trust file or specify it with --keyring; if the author doesn't confirm the key, deny the version"}
	case provider.TrustUnknown: // if the key is missing, pinning doesn't help
		remedy = finding.Remedy{Hint: "specify the author's public key with --keyring; if you published the release, publish it again with --keyring FILE, which adds the key to the release"}
	}
	switch {
	case isRefused && refused.Unapproved:
		s.addError("approval-missing", fmt.Sprintf("The release is not approved: %s.", refused.Problem), a.promote("review the release, then approve it", " --sign-key FILE"))
	case isRefused:
		s.addError(signatureCode(refused.Verdict.Trust), fmt.Sprintf("The release is refused: %s: %s.", refused.Verdict, refused.Problem), remedy)
	case ctx.Err() != nil:
		return verdict, ctx.Err()
	case err != nil: // the documents have already been read
		s.addError("document-unreadable", fmt.Sprintf("The signature cannot be verified: %v.", err), a.rebuild())
	case verdict.Warning != "":
		s.addWarning(signatureCode(verdict.Trust), fmt.Sprintf("The release is %s: %s.", verdict, verdict.Warning), remedy)
	}
	return verdict, nil
}

// readReferrers reads the referrers of the index and adds findings about unreadable
// documents and attestations.
func (a *verification) readReferrers(ctx context.Context, found repository.Inspection) (repository.Referrers, error) {
	s := a.about(provider.Platform{})
	r, err := repository.ReadReferrers(ctx, a.repo, found.Digest)
	a.addUnreadable(s, r.Lost)
	for _, platform := range found.Index.Platforms() {
		f, inspected := found.Platforms[platform]
		if err != nil || !inspected || f.Err != nil || found.Module {
			continue
		}
		var lost []error
		_, lost, err = repository.Attestations(ctx, a.repo, f.Target.Descriptor.Digest, f.Package(a.address, a.version))
		a.addUnreadable(a.about(platform), lost)
	}
	return r, err
}

// hasSBOM reports whether an SBOM describes each package of a release.
func hasSBOM(found repository.Inspection, r provider.Release, referrers []provider.Document) bool {
	isSBOM := func(d provider.Document) bool { return d.Kind == provider.KindSBOM }
	if slices.ContainsFunc(slices.Concat(r.Documents, referrers), isSBOM) {
		return true
	}
	without := func(p provider.Package) bool { return !slices.ContainsFunc(p.Documents, isSBOM) }
	return len(r.Packages) == len(found.Index.Platforms()) && !slices.ContainsFunc(r.Packages, without)
}

func (a *verification) addUnreadable(s reporter, lost []error) {
	for _, problem := range lost {
		s.addWarning("referrer-unreadable", fmt.Sprintf("A referrer of the release cannot be read: %v.", problem), finding.Remedy{Hint: "publish the document again"})
	}
}
