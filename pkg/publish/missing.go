package publish

import (
	"context"
	"errors"
	"fmt"
	"io"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/tofu-oci/tofu-oci/internal/transfer"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
)

// creating is a repository that is made when it turns out to be missing.
type creating struct {
	repository.Repository
	create func(ctx context.Context) error
}

// withMissing lets a missing repository be made, if that is wanted.
func withMissing(repo repository.Repository, o Options) repository.Repository {
	if o.OnMissingRepository == nil {
		return repo
	}
	return creating{repo, func(ctx context.Context) error {
		if err := o.Seen.create(ctx, repo.String(), o.OnMissingRepository); err != nil {
			return fmt.Errorf("making the missing repository: %w", err)
		}
		return nil
	}}
}

// PushBlob pushes a blob, and where the repository is missing has it made first.
// Nothing of content is read before a registry says so.
func (c creating) PushBlob(ctx context.Context, d ocispec.Descriptor, content io.Reader) error {
	read := transfer.NewRecorder(content)
	err := c.Repository.PushBlob(ctx, d, read)
	if err == nil || read.N() > 0 || !isMissing(err) {
		return err
	}
	if err := c.create(ctx); err != nil {
		return err
	}
	return c.Repository.PushBlob(ctx, d, read)
}

// isMissing knows how registries say that a repository has to be made first. ECR
// sometimes just ends the connection.
func isMissing(err error) bool {
	return errors.Is(err, repository.ErrNoRepository) || errors.Is(err, io.EOF)
}
