package verify

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/opencontainers/go-digest"

	"github.com/tofu-oci/tofu-oci/pkg/finding"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
	"github.com/tofu-oci/tofu-oci/pkg/trust"
)

// against compares a release with what its origin offers today. verdict is about
// what is stored.
func (a *audit) against(ctx context.Context, found repository.Inspection, verdict provider.Verdict) error {
	s := a.at(provider.Platform{})
	offered, zips, err := a.offered(ctx)
	switch {
	case errors.Is(err, provider.ErrVersionNotFound) || errors.Is(err, provider.ErrProviderNotFound):
		s.warn("release-withdrawn", fmt.Sprintf("The origin does not offer version %s any more: %v.", a.version, err), finding.Remedy{Hint: "ask the author why; if the release is bad, delete its tag and move on to another version"})
		return nil
	case err != nil && isContradictory(err):
		s.warn("origin-unverified", fmt.Sprintf("What the origin offers contradicts itself: %v.", err), finding.Remedy{Hint: "tell those who run the origin"})
		return nil
	case err != nil:
		return fmt.Errorf("asking the origin: %w", err)
	}
	a.compareZips(found, zips)
	stated := found.Index.Protocols()
	if len(stated) > 0 && len(offered.Protocols) > 0 && !slices.Equal(provider.SortProtocols(stated), offered.Protocols) {
		s.warn("annotation-protocols", fmt.Sprintf("The annotated plugin protocols are %q, and the origin says %q.", stated, offered.Protocols), a.mirrorAnew())
	}
	return a.compareKeys(ctx, offered, verdict)
}

// offered returns what the origin says of the release, and the digests of its zips.
// Where the origin states those for all platforms at once, one of them is enough to
// learn the rest.
func (a *audit) offered(ctx context.Context) (r provider.Release, zips map[provider.Platform]digest.Digest, err error) {
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

// isContradictory tells an origin that disagrees with itself from one that does not
// answer.
func isContradictory(err error) bool {
	_, platform := errors.AsType[*provider.PlatformError](err)
	return platform || provider.KindOf(err) == provider.Unverified
}

// compareZips tells which zips are missing here or there, or are others.
func (a *audit) compareZips(found repository.Inspection, offered map[provider.Platform]digest.Digest) {
	platforms := provider.SortPlatforms(slices.Concat(found.Index.Platforms(), slices.Collect(maps.Keys(offered))))
	for _, platform := range platforms {
		s := a.at(platform)
		want, isOffered := offered[platform]
		f := found.Platforms[platform]
		switch {
		case !found.HasPlatform(platform):
			s.warn("platform-missing", fmt.Sprintf("The origin offers a package for %s, which the repository does not have.", platform), finding.Remedy{Command: a.fetch(" --platform " + platform.String())})
		case !isOffered:
			s.warn("platform-withdrawn", fmt.Sprintf("The origin offers no package for %s any more.", platform), finding.Remedy{Hint: "ask the author why"})
		case f.Err == nil && f.Manifest.Zip.Digest != want:
			s.bad("bytes-differ", fmt.Sprintf("The origin offers the zip %s, and the repository has %s: one of them is not what was released.", want, f.Manifest.Zip.Digest),
				finding.Remedy{Hint: "compare both with what the author published; if the origin is right, replace what is stored", Command: a.fetch(" --force")})
		}
	}
}

// compareKeys reports whether the origin offers another signature.
func (a *audit) compareKeys(ctx context.Context, offered provider.Release, stored provider.Verdict) error {
	if a.options.Judge == nil || stored.Trust == "" {
		return nil
	}
	now, err := a.options.Judge(ctx, offered)
	if _, refused := errors.AsType[*trust.RefusedError](err); err != nil && !refused {
		return fmt.Errorf("judging what the origin offers: %w", err)
	}
	s := a.at(provider.Platform{})
	switch {
	case now.Trust == provider.TrustBad:
		s.warn("origin-unverified", fmt.Sprintf("The origin offers a %s: %s.", now, now.Reason), finding.Remedy{Hint: "tell those who run the origin"})
	case now.Fingerprint == "" || strings.HasSuffix(now.Fingerprint, stored.Fingerprint) && stored.Fingerprint != "": // which may be a key ID
	case stored.Trust == provider.TrustUnsigned:
		s.warn("signature-dropped", fmt.Sprintf("Nothing is signed here, and at the origin the release is %s.", now), a.mirrorAnew())
	case stored.Fingerprint != "":
		remedy := a.mirrorAnew()
		remedy.Hint = "ask the author whether the key has changed; if so, " + remedy.Hint
		s.warn("key-changed", fmt.Sprintf("What is stored is %s, and at the origin it is %s.", stored, now), remedy)
	}
	return nil
}
