package source

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"golang.org/x/sync/errgroup"

	"github.com/tofu-oci/tofu-oci/internal/referrers"
	"github.com/tofu-oci/tofu-oci/pkg/artifact"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/sums"
)

// maxShared bounds each document about a release (SHA256SUMS, its signature,
// keys), in bytes. They are a few kilobytes; all of them are held in memory.
const maxShared = 4 << 20

// maxSharedTotal bounds all of them together.
const maxSharedTotal = 16 << 20

// evidence fetches the documents about a release, each once, though every
// manifest names the same. Documents about one package, which may be large, are
// left where they are: see [OCI.Load].
type evidence struct {
	repo Repository
	// sums is the name of a SHA256SUMS layer that has none.
	sums  string
	known map[digest.Digest][]byte
}

// fetch reads the shared attachments of the manifests.
func (e *evidence) fetch(ctx context.Context, manifests []artifact.Manifest) error {
	var wanted []ocispec.Descriptor
	var total int64
	for _, m := range manifests {
		for _, d := range m.Attachments {
			if _, seen := e.known[d.Digest]; seen || !artifact.Shared(d.MediaType, e.name(d)) {
				continue
			}
			if d.Size > maxShared {
				return fmt.Errorf("%s has %d bytes, which is no reasonable size", e.name(d), d.Size)
			}
			if total += d.Size; total > maxSharedTotal {
				return fmt.Errorf("the documents about the release have more than %d bytes together", maxSharedTotal)
			}
			e.known[d.Digest] = nil
			wanted = append(wanted, d)
		}
	}
	contents := make([][]byte, len(wanted))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(maxDocuments)
	for i, d := range wanted {
		group.Go(func() (err error) {
			contents[i], err = readBlob(ctx, e.repo, d)
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	for i, d := range wanted {
		e.known[d.Digest] = contents[i]
	}
	return nil
}

// name gives a layer's title, or what SHA256SUMS is called without one.
func (e *evidence) name(d ocispec.Descriptor) string {
	name := d.Annotations[ocispec.AnnotationTitle]
	if provider.CheckFilename(name) != nil {
		return e.sums
	}
	return name
}

// of gives a manifest's attachments, in its order.
func (e *evidence) of(m artifact.Manifest) []provider.Attachment {
	var as []provider.Attachment
	for _, d := range m.Attachments {
		as = append(as, provider.Attachment{
			Name: e.name(d), MediaType: d.MediaType, Bytes: e.known[d.Digest], Digest: d.Digest, Size: d.Size, Locator: ociLocator{e.repo, d},
		})
	}
	return as
}

// Load reads the documents that Release left where they are.
func (s *OCI) Load(ctx context.Context, as []provider.Attachment) ([]provider.Attachment, error) {
	loaded := slices.Clone(as)
	for i, a := range loaded {
		at, ok := a.Locator.(ociLocator)
		if a.Bytes != nil || !ok {
			continue
		}
		var err error
		if loaded[i].Bytes, err = readBlob(ctx, at.repo, at.blob); err != nil {
			return nil, err
		}
	}
	return loaded, nil
}

// Referrers reads the documents that refer to a version's index: SBOMs and
// provenance that cover all platforms.
func (s *OCI) Referrers(ctx context.Context, a provider.Address, v provider.Version) ([]provider.Attachment, error) {
	index, err := s.index(ctx, a, v)
	if err != nil {
		return nil, fmt.Errorf("reading %s %s: %w", a, v, err)
	}
	return referrers.Documents(ctx, index.repo, index.descriptor.Digest)
}

// readBlob reads a whole small blob, verified. The manifest bounded its size.
func readBlob(ctx context.Context, repo Repository, d ocispec.Descriptor) ([]byte, error) {
	name := d.Annotations[ocispec.AnnotationTitle]
	if name == "" {
		name = d.Digest.String()
	}
	body, err := repo.Blob(ctx, d)
	if err != nil {
		return nil, fmt.Errorf("fetching %s: %w", name, err)
	}
	defer func() { _ = body.Close() }()
	data, err := io.ReadAll(sums.NewReader(body, name, d.Size, d.Digest))
	if err != nil {
		return nil, fmt.Errorf("fetching %s: %w", name, err)
	}
	return data, nil
}

// checkPackage holds a package against its own SHA256SUMS and name.
func checkPackage(p provider.Package) error {
	if err := p.CheckIdentity(); err != nil {
		return err
	}
	for _, a := range p.Attachments {
		if a.MediaType != artifact.MediaTypeSums {
			continue
		}
		listed, err := sums.Parse(a.Bytes)
		if err != nil {
			return fmt.Errorf("%s: %w", a.Name, err)
		}
		if err := listed.Check(p.Filename, p.Digest); err != nil {
			return fmt.Errorf("%s: %w", a.Name, err)
		}
	}
	return nil
}

// shareEvidence makes what all packages carry about the release the release's
// own. Artifacts of other tools may have sums of their own for each package:
// these stay where they are.
func shareEvidence(r *provider.Release) {
	isShared := func(a provider.Attachment) bool { return artifact.Shared(a.MediaType, a.Name) }
	sharedOf := func(p provider.Package) []provider.Attachment {
		return slices.DeleteFunc(slices.Clone(p.Attachments), func(a provider.Attachment) bool { return !isShared(a) })
	}
	first := sharedOf(r.Packages[0])
	for _, p := range r.Packages[1:] {
		if !slices.EqualFunc(first, sharedOf(p), sameAttachment) {
			return
		}
	}
	r.Attachments = first
	for i, p := range r.Packages {
		r.Packages[i].Attachments = slices.DeleteFunc(slices.Clone(p.Attachments), isShared)
	}
}

func sameAttachment(a, b provider.Attachment) bool {
	return a.Name == b.Name && a.MediaType == b.MediaType && bytes.Equal(a.Bytes, b.Bytes)
}

// missingVersion says which versions there are instead.
func missingVersion(ctx context.Context, repo Repository, a provider.Address, cause error) error {
	tags, err := repo.Tags(ctx)
	if errors.Is(err, artifact.ErrNoRepository) {
		return fmt.Errorf("%w: %s: %w", provider.ErrProviderNotFound, a, err)
	}
	if err != nil {
		return fmt.Errorf("%w, and the others cannot be told: %w", provider.ErrVersionNotFound, err)
	}
	return fmt.Errorf("%w: %s: %w", provider.ErrVersionNotFound, provider.SomeVersions(versionsOf(tags)), cause)
}
