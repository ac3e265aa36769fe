package publish

import (
	"context"
	"fmt"
	"slices"

	"github.com/tofu-oci/tofu-oci/pkg/artifact"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// toTell gives the release with a document of keys that has no content yet, where its
// signature was made by keys that are to go along.
func (p publisher) toTell(ctx context.Context, r provider.Release) (provider.Release, error) {
	if _, has := r.Document(provider.KindKeys); has || p.options.Keys == nil || p.can.Published {
		return r, nil
	}
	keys, err := p.keysOf(ctx, r)
	if err != nil || keys == nil {
		return r, err
	}
	listed, _ := r.Document(provider.KindSums)
	r.Documents = append(slices.Clip(r.Documents), provider.Document{
		Kind: provider.KindKeys, Scope: provider.ScopeRelease, Name: keysName(listed), MediaType: artifact.MediaTypeKeys,
	})
	return r, nil
}

// tell puts the content into the document of toTell: the keys that made the signature
// which the tag is to name, and which may be the stored one.
func (p publisher) tell(ctx context.Context, r provider.Release) (provider.Release, error) {
	empty := func(d provider.Document) bool { return d.Kind == provider.KindKeys && d.Digest == "" } // of toTell
	if !slices.ContainsFunc(r.Documents, empty) {
		return r, nil
	}
	r.Documents = slices.DeleteFunc(slices.Clone(r.Documents), empty)
	keys, err := p.keysOf(ctx, r)
	if err != nil || keys == nil {
		return r, err
	}
	listed, _ := r.Document(provider.KindSums)
	r.Documents = append(r.Documents, artifact.NewDocument(keysName(listed), artifact.MediaTypeKeys, keys))
	return r, nil
}

// keysOf gives the keys that made the signatures of a release; nil when it has none, or
// when they are not at hand.
func (p publisher) keysOf(ctx context.Context, r provider.Release) ([]byte, error) {
	listed, has := r.Document(provider.KindSums)
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
	content, err := listed.Read(ctx)
	if err != nil {
		return nil, fmt.Errorf("reading the checksums: %w", err)
	}
	return p.options.Keys(content, signatures...)
}

// naming tells of the documents that the tag is to name. Keys that made only the
// signature of the source are none of them where the stored one stays.
func (r Result) naming(release provider.Release) Result {
	r.Documents = release.Documents
	if _, has := release.Document(provider.KindKeys); !has {
		listed, _ := release.Document(provider.KindSums)
		r.Added = slices.DeleteFunc(slices.Clone(r.Added), func(name string) bool { return name == keysName(listed) })
	}
	return r
}

// keysName is that of the keys that made the signature of sums.
func keysName(listed provider.Document) string { return listed.Name + ".keys.asc" }
