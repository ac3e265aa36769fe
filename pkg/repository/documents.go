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
// something else, such as signatures of the artifact itself and denials, are left
// out, and so are those that a clean-up job took away, and a repository's inability
// to list any: none of them makes the manifest itself less than it is.
func Documents(ctx context.Context, repo Reader, subject digest.Digest) ([]provider.Document, error) {
	documents, _, err := readDocuments(ctx, repo, subject)
	if err != nil {
		return nil, err
	}
	slices.SortStableFunc(documents, func(a, b provider.Document) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.MediaType, b.MediaType))
	})
	return documents, nil
}

// CheckReferrers finds what [Documents] passes over: a list of referrers that is
// none, and documents on it that are not there, or not as the list says. A
// repository that can hold no list has none. The second error is that of a
// repository that did not answer.
func CheckReferrers(ctx context.Context, repo Reader, subject digest.Digest) (lost []error, err error) {
	documents, lost, err := readDocuments(ctx, repo, subject)
	for _, d := range documents {
		there, err := has(ctx, repo, ocispec.Descriptor{Digest: d.Digest, Size: d.Size})
		if err != nil {
			return lost, err
		}
		if !there {
			lost = append(lost, fmt.Errorf("the document %s is missing or damaged: %w", d.Name, ErrNotFound))
		}
	}
	return lost, err
}

// readDocuments describes the documents that are attached to a manifest, in the
// order of the list, and says why others on it cannot be read.
func readDocuments(ctx context.Context, repo Reader, subject digest.Digest) (documents []provider.Document, lost []error, err error) {
	known, err := readReferrers(ctx, repo, subject)
	switch {
	case errors.Is(err, ErrSubject):
		return nil, nil, nil
	case isFormat(err):
		return nil, []error{err}, nil
	case err != nil:
		return nil, nil, fmt.Errorf("listing the referrers of %s: %w", subject, err)
	case len(known.entries) > maxDocuments:
		return nil, nil, fmt.Errorf("listing the referrers of %s: there are %d, more than the %d that are read", subject, len(known.entries), maxDocuments)
	}
	for _, d := range known.entries {
		name := d.Annotations[ocispec.AnnotationTitle]
		if provider.CheckFilename(name) != nil || d.Digest.Validate() != nil || d.ArtifactType == artifact.TypeDenial {
			continue // something else, such as a signature of the artifact itself
		}
		document, err := referred(ctx, repo, d)
		if isFormat(err) || errors.Is(err, ErrNotFound) {
			lost = append(lost, fmt.Errorf("the referrer %s: %w", name, err))
			continue
		}
		if err != nil {
			return nil, nil, fmt.Errorf("reading the referrer %s: %w", name, err)
		}
		documents = append(documents, document)
	}
	return documents, lost, nil
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
