package repository

import (
	"context"
	"fmt"
	"io"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/tofu-oci/tofu-oci/internal/transfer"
	"github.com/tofu-oci/tofu-oci/pkg/artifact"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// DocumentAt returns the document in a layer. The document's content is read from the
// repository when it is opened. sumsName is the name of a SHA256SUMS layer without a
// title.
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

// pushMissing pushes a document unless it exists. It pushes a damaged blob even if the
// repository reports that the blob exists.
func pushMissing(ctx context.Context, repo Repository, retrier transfer.Retrier, was Inspection, d provider.Document) error {
	blob := ocispec.Descriptor{MediaType: d.MediaType, Digest: d.Digest, Size: d.Size}
	push := func() error {
		return retrier.Do(ctx, fmt.Sprintf("pushing blob %s", d.Digest), func() error {
			err := pushDocument(ctx, repo, d)
			return transfer.MarkExpired(err)
		})
	}
	if was.IsMissing(d.Digest) {
		return ReplaceBlob(ctx, repo, d.Digest, func() (int64, error) { return d.Size, push() })
	}
	if exists, err := hasBlob(ctx, repo, blob); exists || err != nil {
		return err
	}
	return push()
}

// pushDocument opens a document and pushes it.
func pushDocument(ctx context.Context, repo Repository, d provider.Document) error {
	content, err := d.Open(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = content.Close() }()
	return repo.PushBlob(ctx, ocispec.Descriptor{MediaType: d.MediaType, Digest: d.Digest, Size: d.Size}, content)
}
