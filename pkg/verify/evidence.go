package verify

import (
	"context"
	"errors"
	"fmt"

	"github.com/opencontainers/go-digest"

	"github.com/tofu-oci/tofu-oci/internal/schedule"
	"github.com/tofu-oci/tofu-oci/pkg/artifact"
	"github.com/tofu-oci/tofu-oci/pkg/finding"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
	"github.com/tofu-oci/tofu-oci/pkg/source/oci"
	"github.com/tofu-oci/tofu-oci/pkg/sums"
	"github.com/tofu-oci/tofu-oci/pkg/trust"
)

// evidence holds packages against their names and their SHA256SUMS, and gives the
// release of those that fit.
func (a *audit) evidence(ctx context.Context, found repository.Inspection) (provider.Release, error) {
	platforms := readable(found)
	if err := weigh(ctx, found, platforms); err != nil || len(platforms) == 0 {
		return provider.Release{}, err
	}
	release, err := oci.FromInspection(ctx, a.repo, found, a.address, a.version, platforms)
	if err != nil {
		// One of them spoils it for all.
		var sound []provider.Platform
		for _, platform := range platforms {
			_, err := oci.FromInspection(ctx, a.repo, found, a.address, a.version, []provider.Platform{platform})
			if err == nil {
				sound = append(sound, platform)
			} else if !a.contradiction(a.at(platform), err) {
				return provider.Release{}, err
			}
		}
		if len(sound) == 0 {
			return provider.Release{}, nil
		}
		release, err = oci.FromInspection(ctx, a.repo, found, a.address, a.version, sound)
		if err != nil && !a.contradiction(a.at(provider.Platform{}), err) {
			return provider.Release{}, err
		}
		if err != nil {
			return provider.Release{}, nil //nolint:nilerr // it is a finding
		}
	}
	a.listed(release)
	return release, nil
}

// readable returns the platforms whose evidence is there.
func readable(found repository.Inspection) []provider.Platform {
	var platforms []provider.Platform
	for _, platform := range found.Index.Platforms() {
		f := found.Platforms[platform]
		whole := f.Err == nil
		for _, d := range f.Manifest.Documents {
			whole = whole && !isLost(f, d.Digest)
		}
		if whole {
			platforms = append(platforms, platform)
		}
	}
	return platforms
}

// weigh waits where the documents of a release are larger than any should be, so
// that not many such releases are in memory at once.
func weigh(ctx context.Context, found repository.Inspection, platforms []provider.Platform) error {
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

// contradiction tells what an error says of a release; false when it says something
// of the way there instead.
func (a *audit) contradiction(s subject, err error) bool {
	if name, ok := errors.AsType[*provider.IdentityError](err); ok {
		s.bad("name-differs", fmt.Sprintf("The zip goes by another name: %v. OpenTofu does not look at names and installs it all the same; tofu-oci refuses it.", name), a.mirror(" --force"))
		return true
	}
	if file, ok := errors.AsType[*sums.FileError](err); ok {
		if file.Missing != "" {
			s.bad("sums-unlisted", fmt.Sprintf("The zip proves nothing: %v.", file), a.again())
		} else {
			s.bad("sums-malformed", fmt.Sprintf("The checksums cannot be read: %v.", file), a.again())
		}
		return true
	}
	if mismatch, differs := errors.AsType[*sums.MismatchError](err); differs {
		if _, _, _, isPackage := provider.ParseFilename(mismatch.Name); isPackage {
			s.bad("sums-differ", fmt.Sprintf("The zip is not the one that SHA256SUMS lists: %v.", mismatch), a.again())
			return true
		}
	}
	switch {
	case isDamage(err):
		s.bad("blob-damaged", fmt.Sprintf("Evidence is damaged: %v.", err), a.mirror(" --check-level deep"))
	case formatOf(err) != nil:
		s.bad("evidence-unreadable", fmt.Sprintf("Evidence cannot be read: %v.", err), a.again())
	default:
		return false
	}
	return true
}

// listed tells which packages no SHA256SUMS is about.
func (a *audit) listed(r provider.Release) {
	if _, shared := r.Document(provider.KindSums); shared {
		return
	}
	for _, p := range r.Packages {
		if _, own := (provider.Release{Documents: p.Documents}).Document(provider.KindSums); !own {
			a.at(p.Platform).warn("sums-missing", "There is no SHA256SUMS that lists the zip, so nothing but the repository says what it should be.", a.again())
		}
	}
}

// signature says what the signature proves.
func (a *audit) signature(ctx context.Context, r provider.Release) (provider.Verdict, error) {
	if a.options.Judge == nil || len(r.Packages) == 0 {
		return provider.Verdict{}, nil
	}
	s := a.at(provider.Platform{})
	verdict, err := a.options.Judge(ctx, r)
	refused, isRefused := errors.AsType[*trust.RefusedError](err)
	if isRefused {
		verdict = refused.Verdict
	}
	remedy := a.again()
	remedy.Hint = "learn from the author which key signs the release, and pin it in the trust file or give it with --keyring; if what is stored is wrong, " + remedy.Hint
	if verdict.Trust == provider.TrustUnknown { // a pin without the key is no help
		remedy = finding.Remedy{Hint: "give the author's public key with --keyring; where the release comes from tofu-oci publish, publishing it again with --keyring FILE puts that key beside its signature"}
	}
	switch {
	case isRefused:
		s.bad(signatureCode(refused.Verdict.Trust), fmt.Sprintf("The release is refused: %s: %s.", refused.Verdict, refused.Problem), remedy)
		return refused.Verdict, nil
	case ctx.Err() != nil:
		return verdict, ctx.Err()
	case err != nil: // all that is judged was read before
		s.bad("evidence-unreadable", fmt.Sprintf("The signature cannot be judged: %v.", err), a.again())
	case verdict.Warning != "":
		s.warn(signatureCode(verdict.Trust), fmt.Sprintf("The release is %s: %s.", verdict, verdict.Warning), remedy)
	}
	return verdict, nil
}

// referrers tells which documents about the release cannot be read.
func (a *audit) referrers(ctx context.Context, found repository.Inspection) error {
	lost, err := repository.CheckReferrers(ctx, a.repo, found.Digest)
	for _, problem := range lost {
		a.at(provider.Platform{}).warn("referrer-unreadable", fmt.Sprintf("A document that refers to the release cannot be read: %v.", problem),
			finding.Remedy{Hint: "publish the document again, which attaches it anew"})
	}
	return err
}
