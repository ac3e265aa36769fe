package publish

import (
	"context"
	"fmt"
	"slices"

	"github.com/tofu-oci/tofu-oci/pkg/artifact"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// Signing configures how releases are signed. The zero value signs nothing.
type Signing struct {
	// Signer, if not nil, signs the SHA256SUMS of unsigned releases and adds its public
	// key. If the release already has a signature that Signer made, the release can be
	// extended. SHA256SUMS is then generated and signed again. trust.Signer
	// implements this interface.
	Signer artifact.Signer
	// Keys, if not nil, returns the armored public keys for the signatures of
	// SHA256SUMS, or nil if it doesn't have these keys. The keys are published with
	// signed local builds, including stored builds without keys, so that users can pin
	// the keys. Sources of published releases offer keys themselves. You can use
	// trust.Keyring's KeysOf method.
	Keys func(sums []byte, signatures ...[]byte) ([]byte, error)
}

// announceSignature adds the signature and the keys that [job.signRelease] will create.
// They have no content yet, but a plan depends on the documents of the release.
func (j *job) announceSignature(ctx context.Context, r provider.Release) (provider.Release, error) {
	sums, has := r.Document(provider.KindSums)
	if _, signed := r.Document(provider.KindSignature); has && !signed && j.options.Signing.Signer != nil {
		r.Documents = append(slices.Clip(r.Documents), provider.Document{
			Kind: provider.KindSignature, Scope: provider.ScopeRelease, Name: signatureName(sums), MediaType: artifact.MediaTypeSignature,
		})
	}
	if _, has := r.Document(provider.KindKeys); has || j.options.Signing.Keys == nil || j.can.Published {
		return r, nil
	}
	keys, err := j.keysOf(ctx, r)
	if err == nil && keys != nil {
		r.Documents = append(slices.Clip(r.Documents), provider.Document{
			Kind: provider.KindKeys, Scope: provider.ScopeRelease, Name: keysName(sums), MediaType: artifact.MediaTypeKeys,
		})
	}
	return r, err
}

func signatureName(sums provider.Document) string { return sums.Name + ".sig" }

func keysName(sums provider.Document) string { return sums.Name + ".keys.asc" }

// keysOf returns the keys that made the signatures of a release. It returns nil if the
// release has no signature or the keys are unknown.
func (j *job) keysOf(ctx context.Context, r provider.Release) ([]byte, error) {
	sums, has := r.Document(provider.KindSums)
	if !has {
		return nil, nil
	}
	var signatures [][]byte
	for _, d := range r.Documents {
		if d.Kind != provider.KindSignature || d.Scope != provider.ScopeRelease || d.Digest == "" {
			continue
		}
		signature, err := d.Read(ctx)
		if err != nil {
			return nil, fmt.Errorf("reading the signature: %w", err)
		}
		signatures = append(signatures, signature)
	}
	if signatures == nil {
		return nil, nil
	}
	content, err := sums.Read(ctx)
	if err != nil {
		return nil, fmt.Errorf("reading the checksums: %w", err)
	}
	return j.options.Signing.Keys(content, signatures...)
}

// signedByUs reports whether the signer made all signatures of a release. If so, it can
// sign the release again.
func (j *job) signedByUs(r provider.Release) bool {
	signer := j.options.Signing.Signer
	sums, has := r.Document(provider.KindSums)
	if signer == nil || !has {
		return false
	}
	ours := 0
	for _, d := range r.Documents {
		if d.Kind != provider.KindSignature {
			continue
		}
		if !signer.Signed(sums.Bytes, d.Bytes) {
			return false
		}
		ours++
	}
	return ours > 0
}

// withKeysOf returns r with its keys replaced by the keys of other, because the keys in a
// repository can differ from the keys that the source offers.
func withKeysOf(r, other provider.Release) provider.Release {
	isKeys := func(d provider.Document) bool { return d.Kind == provider.KindKeys }
	without := func(documents []provider.Document) []provider.Document {
		return slices.DeleteFunc(slices.Clone(documents), isKeys)
	}
	r.Packages = slices.Clone(r.Packages)
	for i, pkg := range r.Packages {
		r.Packages[i].Documents = without(pkg.Documents)
	}
	r.Documents = without(r.Documents)
	for _, d := range other.Documents {
		if isKeys(d) {
			r.Documents = append(r.Documents, d)
		}
	}
	return r
}
