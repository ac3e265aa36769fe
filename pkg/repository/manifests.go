package repository

import (
	"context"
	"errors"
	"fmt"

	"github.com/opencontainers/go-digest"

	"github.com/tofu-oci/tofu-oci/pkg/artifact"
)

// putManifest pushes a manifest. If the existing manifest was damaged, putManifest
// reads the new one back.
func putManifest(ctx context.Context, repo Repository, m artifact.Blob, was Inspection) error {
	d := m.Descriptor.Digest
	if err := repo.PushManifest(ctx, m); err != nil || !was.damaged(d) {
		return err
	}
	_, _, err := repo.Manifest(ctx, d.String())
	if err != nil && isFinding(err) {
		err = fmt.Errorf("replacing %s in %s: %w", d, repo, ErrCorruptRetained)
	}
	return err
}

// damaged reports whether the inspection found that the manifest is damaged, but not
// missing.
func (i Inspection) damaged(manifest digest.Digest) bool {
	for _, f := range i.Platforms {
		if f.Target.Descriptor.Digest == manifest {
			return f.Err != nil && !errors.Is(f.Err, ErrNotFound)
		}
	}
	return false
}

// found reports whether the manifest was read successfully.
func (i Inspection) found(manifest digest.Digest) bool {
	for _, f := range i.Platforms {
		if f.Err == nil && f.Target.Descriptor.Digest == manifest {
			return true
		}
	}
	return false
}
