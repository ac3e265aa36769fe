package verify

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/opencontainers/go-digest"

	"github.com/tofu-oci/tofu-oci/internal/finding"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
	"github.com/tofu-oci/tofu-oci/pkg/trust"
)

// against compares a release with the release that its origin registry currently
// offers. verdict is the verdict on the stored release's signature.
func (a *verification) against(ctx context.Context, found repository.Inspection, verdict provider.Verdict) error {
	s := a.about(provider.Platform{})
	offered, zips, err := a.offered(ctx)
	switch {
	case errors.Is(err, provider.ErrVersionNotFound) || errors.Is(err, provider.ErrProviderNotFound):
		s.addWarning("release-withdrawn", fmt.Sprintf("The origin registry has withdrawn version %s: %v.", a.version, err), finding.Remedy{Hint: "ask the author for the reason; if the release is bad, delete its tag and use another version"})
		return nil
	case err != nil && isContradictory(err):
		s.addWarning("origin-unverified", fmt.Sprintf("The origin registry's content is inconsistent: %v.", err), finding.Remedy{Hint: "report the problem to the operators of the origin registry"})
		return nil
	case err != nil:
		return fmt.Errorf("querying the origin registry: %w", err)
	}
	a.compareZips(found, zips)
	stated := found.Index.Protocols()
	if len(stated) > 0 && len(offered.Protocols) > 0 && !slices.Equal(provider.SortProtocols(stated), offered.Protocols) {
		s.addWarning("annotation-protocols", fmt.Sprintf("The annotated plugin protocols are %q, but the origin registry reports %q.", stated, offered.Protocols), finding.Remedy{Command: a.fetch(" --against-origin --force")})
	}
	return a.compareKeys(ctx, offered, verdict)
}

// offered returns the release that the origin registry offers, and the digests of its zips.
// If the origin registry provides all digests at once, offered requests only one package.
func (a *verification) offered(ctx context.Context) (r provider.Release, zips map[provider.Platform]digest.Digest, err error) {
	src := a.options.Origin
	if ask := provider.CapabilitiesOf(src).Digests; ask != nil {
		if zips, err = ask(ctx, a.address, a.version); err != nil {
			return r, nil, err
		}
	}
	if len(zips) > 0 {
		first := provider.SortPlatforms(slices.Collect(maps.Keys(zips)))[0]
		r, err = src.Release(ctx, a.address, a.version, first)
		return r, zips, err
	}
	r, err = src.Release(ctx, a.address, a.version)
	zips = map[provider.Platform]digest.Digest{}
	for _, p := range r.Packages {
		zips[p.Platform] = p.Digest
	}
	return r, zips, err
}

// isContradictory reports whether err means that the origin registry's content is
// inconsistent, as opposed to a network error.
func isContradictory(err error) bool {
	_, platform := errors.AsType[*provider.PlatformError](err)
	return platform || provider.KindOf(err) == provider.Unverified
}

// compareZips adds findings about zips that are missing from the repository, are
// missing from the origin registry, or differ.
func (a *verification) compareZips(found repository.Inspection, offered map[provider.Platform]digest.Digest) {
	platforms := provider.SortPlatforms(slices.Concat(found.Index.Platforms(), slices.Collect(maps.Keys(offered))))
	for _, platform := range platforms {
		s := a.about(platform)
		want, isOffered := offered[platform]
		f := found.Platforms[platform]
		switch {
		case !found.HasPlatform(platform):
			s.addWarning("platform-missing", fmt.Sprintf("The origin registry offers a package for %s that is missing from the repository.", platform), finding.Remedy{Command: a.fetch(" --platform " + platform.String())})
		case !isOffered:
			s.addWarning("platform-withdrawn", fmt.Sprintf("The origin registry no longer offers the package for %s.", platform), finding.Remedy{Hint: "ask the author why the package was withdrawn"})
		case f.Err == nil && f.Manifest.Zip.Digest != want:
			s.addError("bytes-differ", fmt.Sprintf("The origin registry offers the zip %s, but the repository has %s, so one of them is not the released zip.", want, f.Manifest.Zip.Digest),
				finding.Remedy{Hint: "compare both with the checksums that the author published; if the origin registry is right, replace the stored zip", Command: a.fetch(" --force")})
		}
	}
}

// compareKeys adds a finding if a different key made the signature that the origin
// registry offers.
func (a *verification) compareKeys(ctx context.Context, offered provider.Release, stored provider.Verdict) error {
	if a.options.Verify == nil || stored.Trust == "" {
		return nil
	}
	now, err := a.options.Verify(ctx, offered)
	if _, refused := errors.AsType[*trust.RefusedError](err); err != nil && !refused {
		return fmt.Errorf("verifying the signature in the origin registry: %w", err)
	}
	s := a.about(provider.Platform{})
	switch {
	case now.Trust == provider.TrustBad:
		s.addWarning("origin-unverified", fmt.Sprintf("The origin registry offers a %s: %s.", now, now.Reason), finding.Remedy{Hint: "report the problem to the operators of the origin registry"})
	case now.Fingerprint == "" || strings.HasSuffix(now.Fingerprint, stored.Fingerprint) && stored.Fingerprint != "": // the fingerprint can be a key ID
	case stored.Trust == provider.TrustUnsigned:
		s.addWarning("signature-dropped", fmt.Sprintf("The stored release is unsigned, but in the origin registry it is %s.", now), finding.Remedy{Command: a.fetch(" --against-origin")})
	case stored.Fingerprint != "":
		s.addWarning("key-changed", fmt.Sprintf("The stored release is %s, but in the origin registry it is %s.", stored, now),
			finding.Remedy{Hint: "ask the author whether the key has changed; if so, replace the stored signature", Command: a.fetch(" --against-origin --force")})
	}
	return nil
}
