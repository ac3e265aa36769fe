package repository

import (
	"context"
	"errors"
	"fmt"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/tofu-oci/tofu-oci/pkg/artifact"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// ErrKeptDamaged says that a registry took the right content of a blob or a manifest,
// and kept the damaged one that it has. Distribution does, as it takes what has the
// right name for the right content.
var ErrKeptDamaged = provider.Errorf(provider.Unverified, "the registry took the content, and kept its own, which is damaged")

// Replace pushes a blob that was found missing or damaged; push gives its size in bytes.
// Where the repository has something in its place, it is read back. Errors are those of
// push and of the repository, and [ErrKeptDamaged].
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
		err = fmt.Errorf("replacing %s in %s: %w", blob, repo, ErrKeptDamaged)
	}
	return err
}

// putManifest pushes a manifest. One that was found damaged is read back.
func putManifest(ctx context.Context, repo Repository, m artifact.Blob, was Inspection) error {
	d := m.Descriptor.Digest
	if err := repo.PushManifest(ctx, m); err != nil || !was.damaged(d) {
		return err
	}
	_, _, err := repo.Manifest(ctx, d.String())
	if err != nil && isFinding(err) {
		err = fmt.Errorf("replacing %s in %s: %w", d, repo, ErrKeptDamaged)
	}
	return err
}

// damaged reports whether a manifest was there, and not as its digest says.
func (i Inspection) damaged(manifest digest.Digest) bool {
	for _, f := range i.Platforms {
		if f.Target.Descriptor.Digest == manifest {
			return f.Err != nil && !errors.Is(f.Err, ErrNotFound)
		}
	}
	return false
}
