package publish

import (
	"fmt"
	"slices"

	"github.com/tofu-oci/tofu-oci/pkg/artifact"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// Signer signs SHA256SUMS where nobody has. A trust.Signer is one.
type Signer interface {
	// Sign gives the detached signature of a document.
	Sign(document []byte) ([]byte, error)
	// Signed tells whether a signature of a document is the signer's own, and may be
	// made anew when the document is.
	Signed(document, signature []byte) bool
	// Keys gives the public key, armored, which goes with the release.
	Keys() []byte
}

// toSign gives the release with a signature that has no content yet, where one will
// be made.
func (p publisher) toSign(r provider.Release) provider.Release {
	listed, has := r.Document(provider.KindSums)
	if _, signed := r.Document(provider.KindSignature); p.options.Signer == nil || !has || signed {
		return r
	}
	r.Documents = append(slices.Clip(r.Documents), provider.Document{
		Kind: provider.KindSignature, Scope: provider.ScopeRelease, Name: listed.Name + ".sig", MediaType: artifact.MediaTypeSignature,
	})
	return r
}

// sign signs the sums that the tag is to name, unless they have a signature, and
// adds the key that tells it.
func (p publisher) sign(r provider.Release) (provider.Release, error) {
	if p.options.Signer == nil {
		return r, nil
	}
	r.Documents = slices.DeleteFunc(slices.Clone(r.Documents), func(d provider.Document) bool {
		return d.Kind == provider.KindSignature && d.Digest == "" // of toSign
	})
	listed, has := r.Document(provider.KindSums)
	if _, signed := r.Document(provider.KindSignature); !has || signed {
		return r, nil
	}
	signature, err := p.options.Signer.Sign(listed.Bytes)
	if err != nil {
		return r, err
	}
	r.Documents = append(r.Documents, artifact.NewDocument(listed.Name+".sig", artifact.MediaTypeSignature, signature))
	if _, has := r.Document(provider.KindKeys); !has {
		r.Documents = append(r.Documents, artifact.NewDocument(keysName(listed), artifact.MediaTypeKeys, p.options.Signer.Keys()))
	}
	return r, nil
}

// signedByUs tells whether a release is signed by the signer and nobody else, so
// that what he signed may be made anew.
func (p publisher) signedByUs(r provider.Release) bool {
	listed, has := r.Document(provider.KindSums)
	if p.options.Signer == nil || !has {
		return false
	}
	ours := 0
	for _, d := range r.Documents {
		if d.Kind != provider.KindSignature {
			continue
		}
		if !p.options.Signer.Signed(listed.Bytes, d.Bytes) {
			return false
		}
		ours++
	}
	return ours > 0
}

// unvouched says which packages would be signed that the source does not have, and
// that the signer has not signed before: whoever may write to the repository could
// have put them there.
func (p *plan) unvouched(old held, r provider.Release) (conflicts []string) {
	signed := slices.ContainsFunc(p.release.Documents, func(d provider.Document) bool {
		return d.Kind == provider.KindSignature && d.Digest != ""
	})
	if !old.signs || old.resigned || signed {
		return nil
	}
	for _, pkg := range old.kept.Packages {
		if !slices.Contains(r.Platforms(), pkg.Platform) {
			conflicts = append(conflicts, fmt.Sprintf("%s is stored, and was not signed by the key that is to sign it now: publish it together with these", pkg.Platform))
		}
	}
	return conflicts
}
