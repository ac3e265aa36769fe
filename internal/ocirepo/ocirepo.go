// Package ocirepo gives access to OCI repositories: those of registries and
// those that are image layout directories. [Registry] and [Layout] have the
// same methods, so that what reads and writes releases knows no difference. It
// is the only room that imports oras' remote packages.
package ocirepo

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/tofu-oci/tofu-oci/pkg/artifact"
	"github.com/tofu-oci/tofu-oci/pkg/template"
)

// Repository is what [Registry] and [Layout] both do. Content that is missing
// is [artifact.ErrNotFound], a repository that is missing
// [artifact.ErrNoRepository].
type Repository interface {
	// Tags lists all tags, in no particular order.
	Tags(ctx context.Context) ([]string, error)
	// Manifest reads a manifest or index by tag or digest, up to
	// [artifact.MaxManifestSize] bytes. The bytes have the descriptor's digest.
	Manifest(ctx context.Context, reference string) (ocispec.Descriptor, []byte, error)
	// Blob opens a blob. The bytes are not verified yet.
	Blob(ctx context.Context, d ocispec.Descriptor) (io.ReadCloser, error)
	// Stat gives a blob's size in bytes.
	Stat(ctx context.Context, d digest.Digest) (int64, error)
	// PushBlob stores a blob; content has to be what d says.
	PushBlob(ctx context.Context, d ocispec.Descriptor, content io.Reader) error
	// PushManifest stores a manifest under its digest.
	PushManifest(ctx context.Context, m artifact.Blob) error
	// PushTag stores a manifest under a tag that still is at was (empty: is not
	// there), else the error is [artifact.ErrTagMoved]. A layout decides that
	// under its lock; a registry has no such operation, so it looks just before.
	PushTag(ctx context.Context, m artifact.Blob, tag string, was digest.Digest) error
	// String names the repository as people write it.
	String() string
}

// Open gives the repository that a reference names. Nothing is contacted or
// created yet.
func Open(ref template.Reference, o Options) (Repository, error) {
	if ref.IsLayout() {
		return NewLayout(ref.Layout), nil
	}
	return NewRegistry(ref, o)
}

// readManifest reads a whole manifest and checks its digest.
func readManifest(r io.Reader, want digest.Digest) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(r, artifact.MaxManifestSize+1))
	if err != nil {
		return nil, err
	}
	if len(data) > artifact.MaxManifestSize {
		return nil, &artifact.FormatError{Problem: fmt.Sprintf("is larger than the %d bytes that OpenTofu reads", artifact.MaxManifestSize)}
	}
	return data, verifyManifest(data, want)
}

// exists turns "not found" into false.
func exists(err error) (bool, error) {
	if errors.Is(err, artifact.ErrNotFound) {
		return false, nil
	}
	return err == nil, err
}
