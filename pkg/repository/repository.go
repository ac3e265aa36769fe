// Package repository provides access to OCI repositories in registries and in image
// layout directories. Both implement [Repository] and declare their optional operations
// in [Capabilities].
//
// Use this package to inspect the content that a tag points to ([Inspect]), push a
// packed release ([Push]), attach documents ([Attach]), or copy a release with
// everything that belongs to it ([Copy]). Package source reads releases, and package
// publish writes them.
package repository

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/tofu-oci/tofu-oci/pkg/artifact"
	"github.com/tofu-oci/tofu-oci/pkg/sums"
	"github.com/tofu-oci/tofu-oci/pkg/template"
)

// Reader reads from an OCI repository. Methods return [ErrNotFound] if content is
// missing, [ErrNoRepository] if the repository is missing, and [provider.ErrForbidden] if
// access is denied. If a tag points to missing or damaged content, they return a
// *[DanglingTagError].
type Reader interface {
	// String returns the name of the repository as used in messages.
	String() string
	// Capabilities returns the capabilities of the repository, which never change.
	Capabilities() Capabilities
	// Tags returns all tags, in any order.
	Tags(ctx context.Context) ([]string, error)
	// Manifest reads a manifest or index by tag or digest, up to
	// [artifact.MaxManifestSize] bytes, and verifies it against the digest of the
	// descriptor.
	Manifest(ctx context.Context, reference string) (ocispec.Descriptor, []byte, error)
	// Blob opens a blob. Its content is not verified. See [Verified].
	Blob(ctx context.Context, d ocispec.Descriptor) (io.ReadCloser, error)
	// Stat returns the size of a blob in bytes. The size in d is the expected size, or 0
	// if it is unknown.
	Stat(ctx context.Context, d ocispec.Descriptor) (int64, error)
}

// Repository reads from and writes to an OCI repository.
type Repository interface {
	Reader
	// PushBlob stores a blob. content must match d. PushBlob reads content once, so the
	// caller must open it again to retry.
	PushBlob(ctx context.Context, d ocispec.Descriptor, content io.Reader) error
	// PushManifest stores a manifest under its digest.
	PushManifest(ctx context.Context, m artifact.Blob) error
	// PushTag stores a manifest under a tag if the tag still points to was. If was is
	// empty, the tag must not exist. If the tag has changed, PushTag returns
	// [ErrTagMoved]. [Capabilities.AtomicTags] reports whether the check and the write are
	// atomic.
	PushTag(ctx context.Context, m artifact.Blob, tag string, was digest.Digest) error
}

// Open returns the repository that a reference refers to. It doesn't contact the
// registry or create anything.
func Open(ref template.Reference, o Options) (Repository, error) {
	if ref.IsLayout() {
		return newLayout(ref.Layout, o), nil
	}
	return newRegistry(ref, o)
}

// readManifest reads a manifest, verifies its digest, and returns the descriptor with its
// size. The size in d only determines the initial buffer size. If the digest in d is
// empty, it is computed.
func readManifest(r io.Reader, d ocispec.Descriptor) (ocispec.Descriptor, []byte, error) {
	expected := max(min(d.Size, artifact.MaxManifestSize), 0)
	buffer := bytes.NewBuffer(make([]byte, 0, expected+bytes.MinRead))
	if _, err := buffer.ReadFrom(io.LimitReader(r, artifact.MaxManifestSize+1)); err != nil {
		return d, nil, err
	}
	data := buffer.Bytes()
	if len(data) > artifact.MaxManifestSize {
		return d, nil, &artifact.FormatError{Problem: fmt.Sprintf("document exceeds %d bytes, the maximum that OpenTofu reads", artifact.MaxManifestSize)}
	}
	got := digest.FromBytes(data)
	if d.Digest != "" && got != d.Digest {
		return d, nil, &sums.MismatchError{Name: "manifest", Got: got.String(), Want: d.Digest.String()}
	}
	d.Digest, d.Size = got, int64(len(data))
	return d, data, nil
}

// isFound reports whether err is nil. For a "not found" error, it returns false and no
// error.
func isFound(err error) (bool, error) {
	if errors.Is(err, ErrNotFound) || errors.Is(err, ErrNoRepository) {
		return false, nil
	}
	return err == nil, err
}
