package referrers

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
	"github.com/tofu-oci/tofu-oci/pkg/sums"
)

// maxDocuments bounds the referrers of one manifest. A release has a few.
const maxDocuments = 100

// Documents reads what is attached to a manifest: SBOMs, provenance and the
// like, sorted by name: registries list them in any order. Referrers that are
// something else, such as signatures of the artifact itself, are left out, and
// so are those that a clean-up job took away, and a repository's inability to
// list any: none of them makes the manifest itself less than it is.
func Documents(ctx context.Context, repo Reader, subject digest.Digest) ([]provider.Attachment, error) {
	known, err := read(ctx, repo, subject)
	if isFormat(err) || errors.Is(err, ErrSubject) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("listing the referrers of %s: %w", subject, err)
	}
	if len(known.entries) > maxDocuments {
		return nil, fmt.Errorf("listing the referrers of %s: there are %d, more than the %d that are read", subject, len(known.entries), maxDocuments)
	}
	var documents []provider.Attachment
	for _, d := range known.entries {
		name := d.Annotations[ocispec.AnnotationTitle]
		if provider.CheckFilename(name) != nil || d.Digest.Validate() != nil {
			continue
		}
		data, err := document(ctx, repo, d)
		if isFormat(err) || errors.Is(err, artifact.ErrNotFound) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("reading the referrer %s: %w", name, err)
		}
		documents = append(documents, provider.Attachment{Name: name, MediaType: d.ArtifactType, Bytes: data})
	}
	slices.SortStableFunc(documents, func(a, b provider.Attachment) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.MediaType, b.MediaType))
	})
	return documents, nil
}

func isFormat(err error) bool {
	_, is := errors.AsType[*artifact.FormatError](err)
	return is
}

func document(ctx context.Context, repo Reader, d ocispec.Descriptor) ([]byte, error) {
	_, data, err := repo.Manifest(ctx, d.Digest.String())
	if err != nil {
		return nil, err
	}
	layer, err := artifact.ParseReferrer(data)
	if err != nil {
		return nil, err
	}
	body, err := repo.Blob(ctx, layer)
	if err != nil {
		return nil, err
	}
	defer func() { _ = body.Close() }()
	return io.ReadAll(sums.NewReader(body, layer.Digest.String(), layer.Size, layer.Digest))
}
