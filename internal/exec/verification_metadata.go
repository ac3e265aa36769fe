package exec

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/source"
	"github.com/tofu-oci/tofu-oci/pkg/store"
)

// verificationMetadata is the verification metadata of a release: SHA256SUMS, its
// signatures, and keys. It contains no verdict, because each run verifies the metadata
// under its own policy.
type verificationMetadata struct {
	// ListedAs is the name of the zip in SHA256SUMS if it differs from the conventional
	// name.
	ListedAs  string             `json:"listed_as,omitempty"`
	Documents []metadataDocument `json:"documents,omitempty"`
}

type metadataDocument struct {
	Kind    provider.DocumentKind `json:"kind"`
	Name    string                `json:"name"`
	Content []byte                `json:"content"`
}

// metadataOf reads the verification metadata of a release with one package, so that
// later runs can verify its signature without the source. It returns nil if a document
// can't be read.
func metadataOf(ctx context.Context, r provider.Release) json.RawMessage {
	if len(r.Packages) != 1 {
		return nil
	}
	p, documents := r.Packages[0], r.Documents
	if _, shared := r.Document(provider.KindSums); !shared {
		documents = slices.Concat(r.Documents, p.Documents)
	}
	e := verificationMetadata{ListedAs: p.ListedAs}
	for _, d := range documents {
		if d.Scope != provider.ScopeRelease || !slices.Contains([]provider.DocumentKind{provider.KindSums, provider.KindSignature, provider.KindKeys}, d.Kind) {
			continue
		}
		content, err := d.Read(ctx)
		if err != nil {
			return nil
		}
		e.Documents = append(e.Documents, metadataDocument{Kind: d.Kind, Name: d.Name, Content: content})
	}
	text, err := json.Marshal(e)
	if err != nil {
		return nil
	}
	return text
}

// restore builds the release of a package from the verification metadata in the store.
// ok is false if the store has no metadata, or if SHA256SUMS does not list the zip.
func restore(s selection, k store.CachedZip) (provider.Release, bool) {
	var e verificationMetadata
	if k.VerificationMetadata == nil || json.Unmarshal(k.VerificationMetadata, &e) != nil {
		return provider.Release{}, false
	}
	p := provider.Package{
		Address: s.Address, Version: s.Version, Platform: s.Platform, Filename: s.filename(), ListedAs: e.ListedAs,
		Digest: k.Zip, Size: -1, H1: k.H1,
	}
	r := provider.Release{Address: s.Address, Version: s.Version, Packages: []provider.Package{p}}
	for _, d := range e.Documents {
		document := provider.Document{Kind: d.Kind, Scope: provider.ScopeRelease, Name: d.Name}.WithBytes(d.Content)
		if d.Kind == provider.KindSums && source.VerifySums(document, p) != nil {
			return r, false
		}
		r.Documents = append(r.Documents, document)
	}
	return r, true
}
