package publish

import (
	"context"
	"errors"
	"fmt"
	"io"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/tofu-oci/tofu-oci/internal/transfer"
	"github.com/tofu-oci/tofu-oci/pkg/artifact"
)

// pushBlob pushes a blob, and where the repository is missing has it made first,
// once in a run. Nothing of content is read before a registry says so.
func (p *publisher) pushBlob(ctx context.Context, d ocispec.Descriptor, content io.Reader) error {
	if p.options.OnMissingRepository == nil {
		return p.repo.PushBlob(ctx, d, content)
	}
	read := transfer.NewRecorder(content)
	err := p.repo.PushBlob(ctx, d, read)
	if err == nil || read.N() > 0 || !isMissing(err) {
		return err
	}
	p.creating.Do(func() {
		if err := p.options.OnMissingRepository(ctx); err != nil {
			p.creationErr = fmt.Errorf("making the missing repository: %w", err)
		}
	})
	if p.creationErr != nil {
		return p.creationErr
	}
	return p.repo.PushBlob(ctx, d, read)
}

// isMissing knows how registries say that a repository has to be made first. ECR
// sometimes just ends the connection.
func isMissing(err error) bool {
	return errors.Is(err, artifact.ErrNoRepository) || errors.Is(err, io.EOF)
}
