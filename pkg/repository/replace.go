package repository

import (
	"context"
	"fmt"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
)

// KeptDamagedError says that a registry took the right content of a blob, and kept the
// damaged one that it has. Distribution does, as it takes what has the right name for
// the right content.
type KeptDamagedError struct {
	Repository string
	Digest     digest.Digest
}

func (e *KeptDamagedError) Error() string {
	return fmt.Sprintf("%s took the content of blob %s, and kept its own, which is damaged", e.Repository, e.Digest)
}

// Replace pushes a blob that was found missing or damaged; push gives its size in bytes.
// Where the repository has something in its place, it is read back. Errors are those of
// push and of the repository, and *[KeptDamagedError].
func Replace(ctx context.Context, repo Reader, blob digest.Digest, push func() (int64, error)) error {
	_, err := repo.Stat(ctx, blob)
	there, err := isThere(err)
	if err != nil {
		return err
	}
	size, err := push()
	if err != nil || !there {
		return err
	}
	now := presence{repo: repo, read: true}
	whole, err := now.has(ctx, ocispec.Descriptor{Digest: blob, Size: size})
	if err == nil && !whole {
		err = &KeptDamagedError{Repository: repo.String(), Digest: blob}
	}
	return err
}
