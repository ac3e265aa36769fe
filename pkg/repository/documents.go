package repository

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/tofu-oci/tofu-oci/pkg/artifact"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// maxDocuments bounds the referrers of one manifest. A release has a few.
const maxDocuments = 100

// Documents reads what is attached to a manifest: SBOMs, provenance and the
// like, sorted by name: registries list them in any order. Referrers that are
// something else, such as signatures of the artifact itself, are left out, and
// so are those that a clean-up job took away, and a repository's inability to
// list any: none of them makes the manifest itself less than it is.
func Documents(ctx context.Context, repo Reader, subject digest.Digest) ([]provider.Document, error) {
	known, err := readReferrers(ctx, repo, subject)
	if isFormat(err) || errors.Is(err, ErrSubject) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("listing the referrers of %s: %w", subject, err)
	}
	if len(known.entries) > maxDocuments {
		return nil, fmt.Errorf("listing the referrers of %s: there are %d, more than the %d that are read", subject, len(known.entries), maxDocuments)
	}
	var documents []provider.Document
	for _, d := range known.entries {
		name := d.Annotations[ocispec.AnnotationTitle]
		if provider.CheckFilename(name) != nil || d.Digest.Validate() != nil {
			continue
		}
		document, err := referred(ctx, repo, d)
		if isFormat(err) || errors.Is(err, ErrNotFound) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("reading the referrer %s: %w", name, err)
		}
		documents = append(documents, document)
	}
	slices.SortStableFunc(documents, func(a, b provider.Document) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.MediaType, b.MediaType))
	})
	return documents, nil
}

func isFormat(err error) bool {
	_, is := errors.AsType[*artifact.FormatError](err)
	return is
}

// referred describes the document of a referrer, which is opened where it lies.
func referred(ctx context.Context, repo Reader, entry ocispec.Descriptor) (provider.Document, error) {
	_, data, err := repo.Manifest(ctx, entry.Digest.String())
	if err != nil {
		return provider.Document{}, err
	}
	layer, err := artifact.ParseReferrer(data)
	if err != nil {
		return provider.Document{}, err
	}
	layer.MediaType, layer.Annotations = entry.ArtifactType, entry.Annotations
	document := DocumentAt(repo, layer, "")
	document.Scope = provider.ScopeRelease
	return document, nil
}

// DocumentAt describes the document that a layer is; it is read where it lies.
// sumsName is what a SHA256SUMS layer without a title is called.
func DocumentAt(repo Reader, layer ocispec.Descriptor, sumsName string) provider.Document {
	document := artifact.DocumentOf(layer, sumsName)
	document.Content = func(ctx context.Context) (io.ReadCloser, error) {
		body, err := Verified(ctx, repo, layer, document.Name)
		if err != nil {
			return nil, fmt.Errorf("fetching %s: %w", document.Name, err)
		}
		return body, nil
	}
	return document
}
