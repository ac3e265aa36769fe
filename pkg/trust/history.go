package trust

import (
	"context"
	"fmt"
	"slices"

	"github.com/tofu-oci/tofu-oci/internal/memo"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// SignerHistory determines which keys signed previously accepted releases, such as the
// releases in the target repository of a mirror. It reads a provider's releases when
// they are first needed, and only once. It is safe for concurrent use.
type SignerHistory struct {
	// Source provides the releases.
	Source provider.Source

	versions memo.Memo[provider.Address, []provider.Version]
	signers  memo.Memo[earlierKey, string]
}

type earlierKey struct {
	address provider.Address
	version provider.Version
}

// changed returns a warning if the previous version is signed by a key that has not
// verifiably signed the release. Otherwise, it returns an empty string. It also returns
// an empty string if the release already exists with a signature by the key of v,
// because the key was accepted earlier.
func (e *SignerHistory) changed(ctx context.Context, r provider.Release, v provider.Verdict) string {
	if e == nil {
		return ""
	}
	before, signer, _ := e.Previous(ctx, r)
	_, exists, _ := e.before(ctx, r.Address, r.Version)
	switch {
	case signer == "":
		return ""
	case !hasKey(v):
		return fmt.Sprintf("the existing version %s is signed by %s", before, signer)
	case signer == v.Fingerprint, exists && e.signer(ctx, r.Address, r.Version, r.Packages[0].Platform) == v.Fingerprint:
		return ""
	}
	return fmt.Sprintf("the key has changed: the existing version %s is signed by %s", before, signer)
}

// Previous returns the newest version that is older than a release, and the fingerprint of
// the key that signed it. If the key is unknown or the version is unsigned, signer is empty.
// found is false if the source has no older version.
func (e *SignerHistory) Previous(ctx context.Context, r provider.Release) (before provider.Version, signer string, found bool) {
	if len(r.Packages) > 0 {
		before, _, found = e.before(ctx, r.Address, r.Version)
	}
	if found {
		signer = e.signer(ctx, r.Address, before, r.Packages[0].Platform)
	}
	return before, signer, found
}

// before returns the newest version that is older than v. exists reports whether v itself
// exists.
func (e *SignerHistory) before(ctx context.Context, a provider.Address, v provider.Version) (before provider.Version, exists, found bool) {
	// If the source doesn't have the provider, remember that the provider has no
	// versions. Otherwise, later lookups would find releases that this run has
	// published.
	versions, _ := e.versions.Get(ctx, a, func(ctx context.Context) ([]provider.Version, error) {
		versions, err := e.Source.Versions(ctx, a)
		if err != nil {
			return nil, ctx.Err()
		}
		return provider.NewestFirst(versions), nil
	})
	i := slices.IndexFunc(versions, func(w provider.Version) bool { return w.Compare(v) < 0 })
	if i < 0 {
		return provider.Version{}, false, false
	}
	return versions[i], slices.Contains(versions, v), true
}

// signer returns the fingerprint of the key that signed a version, or an empty string
// if the key is unknown. Reading one package is enough, because all packages have the
// same checksums and signatures.
func (e *SignerHistory) signer(ctx context.Context, a provider.Address, v provider.Version, platform provider.Platform) string {
	signer, _ := e.signers.Get(ctx, earlierKey{a, v}, func(ctx context.Context) (string, error) {
		stored, err := e.Source.Release(ctx, a, v, platform)
		if err != nil {
			return "", ctx.Err()
		}
		verdict, err := Policy{Mode: ModeOff}.Verify(ctx, stored)
		if err != nil || !hasKey(verdict) {
			return "", ctx.Err()
		}
		return verdict.Fingerprint, nil
	})
	return signer
}

// hasKey reports whether a verdict contains the key of a verified signature.
func hasKey(v provider.Verdict) bool {
	return slices.Contains([]provider.Trust{provider.TrustSigned, provider.TrustExpired, provider.TrustUnpinned, provider.TrustRevoked}, v.Trust)
}
