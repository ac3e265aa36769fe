package repository

import (
	"context"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/tofu-oci/tofu-oci/pkg/artifact"
)

// AttachDecision stores a packed decision as a referrer of the index, whatever it contains.
func AttachDecision(ctx context.Context, repo Repository, packed artifact.Referrer, index ocispec.Descriptor) error {
	_, err := attach(ctx, repo, []artifact.Referrer{packed}, artifact.Blob{Descriptor: index})
	return err
}
