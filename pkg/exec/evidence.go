package exec

import (
	"context"
	"slices"

	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/source"
	"github.com/tofu-oci/tofu-oci/pkg/store"
)

// evidenceOf reads the evidence of a release with one package, so that later runs can
// verify its signature without the source. It returns nil if a document can't be read.
func evidenceOf(ctx context.Context, r provider.Release) *store.Evidence {
	if len(r.Packages) != 1 {
		return nil
	}
	p, documents := r.Packages[0], r.Documents
	if _, shared := r.Document(provider.KindSums); !shared {
		documents = slices.Concat(r.Documents, p.Documents)
	}
	e := &store.Evidence{ListedAs: p.ListedAs}
	for _, d := range documents {
		if d.Scope != provider.ScopeRelease || !slices.Contains([]provider.DocumentKind{provider.KindSums, provider.KindSignature, provider.KindKeys}, d.Kind) {
			continue
		}
		content, err := d.Read(ctx)
		if err != nil {
			return nil
		}
		e.Documents = append(e.Documents, store.EvidenceDocument{Kind: d.Kind, Name: d.Name, Content: content})
	}
	return e
}

// restore builds the release of a package from the evidence in the store. It returns
// false if the store has no evidence, or if the SHA256SUMS does not list the zip.
func restore(s selection, k store.Known) (provider.Release, bool) {
	if k.Evidence == nil {
		return provider.Release{}, false
	}
	p := provider.Package{
		Address: s.Address, Version: s.Version, Platform: s.Platform, Filename: s.filename(), ListedAs: k.Evidence.ListedAs,
		Digest: k.Zip, Size: -1, H1: k.H1,
	}
	r := provider.Release{Address: s.Address, Version: s.Version, Packages: []provider.Package{p}}
	for _, d := range k.Evidence.Documents {
		document := provider.Document{Kind: d.Kind, Scope: provider.ScopeRelease, Name: d.Name}.WithBytes(d.Content)
		if d.Kind == provider.KindSums && source.VerifySums(document, p) != nil {
			return r, false
		}
		r.Documents = append(r.Documents, document)
	}
	return r, true
}
