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

	"github.com/tofu-oci/tofu-oci/pkg/artifact"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/sums"
)

// evidence fetches the documents beside the zips, each once, though every
// manifest of a release names the same SHA256SUMS.
type evidence struct {
	repo Repository
	// sums is the name of a SHA256SUMS layer that has none.
	sums  string
	known map[digest.Digest][]byte
}

// fetch reads all attachments of the manifests.
func (e *evidence) fetch(ctx context.Context, manifests []artifact.Manifest) error {
	var wanted []ocispec.Descriptor
	for _, m := range manifests {
		for _, d := range m.Attachments {
			if _, seen := e.known[d.Digest]; !seen {
				e.known[d.Digest] = nil
				wanted = append(wanted, d)
			}
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

// of gives a manifest's attachments, in its order.
func (e *evidence) of(m artifact.Manifest) []provider.Attachment {
	var as []provider.Attachment
	for _, d := range m.Attachments {
		name := d.Annotations[ocispec.AnnotationTitle]
		if provider.CheckFilename(name) != nil {
			name = e.sums
		}
		as = append(as, provider.Attachment{Name: name, MediaType: d.MediaType, Bytes: e.known[d.Digest]})
	}
	return as
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
	var versions []provider.Version
	for _, tag := range tags {
		if v, ok := artifact.ParseTag(tag); ok {
			versions = append(versions, v)
		}
	}
	return fmt.Errorf("%w: %s: %w", provider.ErrVersionNotFound, provider.SomeVersions(versions), cause)
}
