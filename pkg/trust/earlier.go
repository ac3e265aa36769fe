package trust

import (
	"context"
	"fmt"
	"slices"

	"github.com/tofu-oci/tofu-oci/internal/memo"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// Earlier knows who has signed the releases that were let pass before, such as those
// in the repository that a mirror writes to. It looks at what is there when it is
// first asked about a provider, and asks for a thing once; it is safe for concurrent
// use.
type Earlier struct {
	// Source has the releases.
	Source provider.Source

	versions memo.Memo[provider.Address, []provider.Version]
	signers  memo.Memo[earlierKey, string]
}

type earlierKey struct {
	address provider.Address
	version provider.Version
}

// changed says that a release is signed by another key than the version before it;
// empty when it is not, or when nothing is known.
func (e *Earlier) changed(ctx context.Context, r provider.Release, v provider.Verdict) string {
	if e == nil || !hasKey(v) || len(r.Packages) == 0 {
		return ""
	}
	before, found := e.before(ctx, r.Address, r.Version)
	if !found {
		return ""
	}
	signer := e.signer(ctx, r.Address, before, r.Packages[0].Platform)
	if signer == "" || signer == v.Fingerprint {
		return ""
	}
	return fmt.Sprintf("the key has changed: %s, which is there already, is signed by %s", before, signer)
}

// before returns the newest version that is older than one.
func (e *Earlier) before(ctx context.Context, a provider.Address, v provider.Version) (provider.Version, bool) {
	// A source that does not know the provider has no such version. Remembering that
	// keeps apart what this run puts there.
	versions, _ := e.versions.Get(ctx, a, func(ctx context.Context) ([]provider.Version, error) {
		versions, err := e.Source.Versions(ctx, a)
		if err != nil {
			return nil, ctx.Err()
		}
		return provider.NewestFirst(versions), nil
	})
	i := slices.IndexFunc(versions, func(w provider.Version) bool { return w.Compare(v) < 0 })
	if i < 0 {
		return provider.Version{}, false
	}
	return versions[i], true
}

// signer returns the fingerprint of the key that signed a version; empty when none is
// known. One package is enough: all of them have the same evidence.
func (e *Earlier) signer(ctx context.Context, a provider.Address, v provider.Version, platform provider.Platform) string {
	signer, _ := e.signers.Get(ctx, earlierKey{a, v}, func(ctx context.Context) (string, error) {
		stored, err := e.Source.Release(ctx, a, v, platform)
		if err != nil {
			return "", ctx.Err()
		}
		verdict, err := Policy{Mode: ModeOff}.Judge(ctx, stored)
		if err != nil || !hasKey(verdict) {
			return "", ctx.Err()
		}
		return verdict.Fingerprint, nil
	})
	return signer
}

// hasKey reports whether a verdict is about a key that was seen to have signed.
func hasKey(v provider.Verdict) bool {
	return slices.Contains([]provider.Trust{provider.TrustSigned, provider.TrustExpired, provider.TrustUnpinned, provider.TrustRevoked}, v.Trust)
}
