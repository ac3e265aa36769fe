package publish

import (
	"context"
	"fmt"
	"slices"

	"github.com/tofu-oci/tofu-oci/pkg/artifact"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// Signing says how releases are signed; the zero value signs nothing.
type Signing struct {
	// Signer signs the SHA256SUMS of a release that has no signature, and adds its
	// public key. What it signed before may be extended: the sums are then made and
	// signed anew. nil signs nothing.
	Signer Signer
	// Keys gives the public keys, armored, that made signatures of SHA256SUMS; nil when
	// they are not at hand. They go along with a local build that is signed, so that
	// others can pin them, also where it is stored without them. Sources of published
	// releases offer keys themselves. The method KeysOf of trust.Keyring is such a
	// function; nil adds no keys.
	Keys func(sums []byte, signatures ...[]byte) ([]byte, error)
}

// Signer signs SHA256SUMS where nobody has. A trust.Signer is one.
type Signer interface {
	// Sign gives the detached signature of a document.
	Sign(document []byte) ([]byte, error)
	// Signed reports whether a signature of a document is the signer's own, and may be
	// made anew when the document is.
	Signed(document, signature []byte) bool
	// Keys gives the public key, armored, which goes with the release.
	Keys() []byte
}

// announceEvidence adds the signature and the keys that [question.makeEvidence] will make,
// without content: a plan depends on which documents there will be.
func (q *question) announceEvidence(ctx context.Context, r provider.Release) (provider.Release, error) {
	sums, has := r.Document(provider.KindSums)
	if _, signed := r.Document(provider.KindSignature); has && !signed && q.options.Signing.Signer != nil {
		r.Documents = append(slices.Clip(r.Documents), provider.Document{
			Kind: provider.KindSignature, Scope: provider.ScopeRelease, Name: signatureName(sums), MediaType: artifact.MediaTypeSignature,
		})
	}
	if _, has := r.Document(provider.KindKeys); has || q.options.Signing.Keys == nil || q.can.Published {
		return r, nil
	}
	keys, err := q.keysOf(ctx, r)
	if err == nil && keys != nil {
		r.Documents = append(slices.Clip(r.Documents), provider.Document{
			Kind: provider.KindKeys, Scope: provider.ScopeRelease, Name: keysName(sums), MediaType: artifact.MediaTypeKeys,
		})
	}
	return r, err
}

// makeEvidence signs what the tag is to name, if that is wanted and it has no signature,
// and adds the keys that made its signature, which may be the stored one.
func (q *question) makeEvidence(ctx context.Context, r provider.Release) (provider.Release, error) {
	made := r
	made.Documents = slices.DeleteFunc(slices.Clone(r.Documents), func(d provider.Document) bool {
		return d.Digest == "" && (d.Kind == provider.KindKeys || d.Kind == provider.KindSignature)
	})
	sums, has := made.Document(provider.KindSums)
	if _, announced := r.Document(provider.KindKeys); announced {
		if _, has := made.Document(provider.KindKeys); !has {
			keys, err := q.keysOf(ctx, made)
			if err != nil {
				return r, err
			}
			if keys != nil {
				made.Documents = append(made.Documents, artifact.NewDocument(keysName(sums), artifact.MediaTypeKeys, keys))
			}
		}
	}
	signer := q.options.Signing.Signer
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

// withoutUnmade leaves out the name of keys that were announced, and that made only the
// signature of the source, where the stored one stays.
func withoutUnmade(names []string, made provider.Release) []string {
	if _, has := made.Document(provider.KindKeys); has {
		return names
	}
	sums, _ := made.Document(provider.KindSums)
	return slices.DeleteFunc(slices.Clone(names), func(name string) bool { return name == keysName(sums) })
}

func signatureName(sums provider.Document) string { return sums.Name + ".sig" }

func keysName(sums provider.Document) string { return sums.Name + ".keys.asc" }

// keysOf returns the keys that made the signatures of a release; nil when it has none, or
// when they are not at hand.
func (q *question) keysOf(ctx context.Context, r provider.Release) ([]byte, error) {
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
	return q.options.Signing.Keys(content, signatures...)
}

// signedByUs reports whether a release is signed by the signer and nobody else, so
// that what he signed may be made anew.
func (q *question) signedByUs(r provider.Release) bool {
	signer := q.options.Signing.Signer
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

// judge asks about the signature of what the tag is to name; of is what the source
// has.
func (q *question) judge(ctx context.Context, r, of provider.Release) (provider.Verdict, error) {
	if q.options.Judge == nil {
		return provider.Verdict{}, nil
	}
	if q.can.Published {
		r = withKeysOf(r, of)
	}
	return q.options.Judge(ctx, r)
}

// withKeysOf returns the release with another's keys in place of its own: those which
// a repository holds are not what the source offers.
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
