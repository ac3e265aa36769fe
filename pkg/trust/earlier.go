package trust

import (
	"context"
	"fmt"
	"slices"

	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// changed says that a release is signed by another key than the newest one of the
// provider that Earlier has; empty when it is not, or when nothing is known. Pins
// and keyrings say themselves which keys may sign.
func (p Policy) changed(ctx context.Context, r provider.Release, v provider.Verdict) string {
	if p.Earlier == nil || !hasKey(v) || len(r.Packages) == 0 {
		return ""
	}
	versions, err := p.Earlier.Versions(ctx, r.Address)
	if err != nil {
		return "" // there is none, or none that could tell
	}
	versions = slices.DeleteFunc(provider.NewestFirst(versions), func(w provider.Version) bool { return w == r.Version })
	if len(versions) == 0 {
		return ""
	}
	// One package is enough: all of them have the same evidence.
	stored, err := p.Earlier.Release(ctx, r.Address, versions[0], r.Packages[0].Platform)
	if err != nil {
		return ""
	}
	was, err := Policy{Mode: ModeOff}.Judge(ctx, stored)
	if err != nil || !hasKey(was) || was.Fingerprint == v.Fingerprint {
		return ""
	}
	return fmt.Sprintf("the key has changed: %s, which is there already, is signed by %s", versions[0], was.Fingerprint)
}

// hasKey tells whether a verdict is about a key that was seen to have signed.
func hasKey(v provider.Verdict) bool {
	return slices.Contains([]provider.Trust{provider.TrustSigned, provider.TrustExpired, provider.TrustUnpinned, provider.TrustRevoked}, v.Trust)
}
