package repository

import (
	"context"
	"fmt"
	"io"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/tofu-oci/tofu-oci/pkg/artifact"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// DocumentAt returns the document in a layer. The document's content is read from the
// repository when it is opened. If the layer is a SHA256SUMS file without a title,
// sumsName is used as its name.
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
