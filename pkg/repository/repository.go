// Package repository gives access to OCI repositories: those of registries and
// those that are image layout directories. Both kinds keep the same
// contract, [Repository], and what they can do beyond it they declare in their
// [Traits]. Use it to look at what a tag holds ([Inspect]), to push a packed
// release ([Push]), to attach documents ([Attach]), or to copy a release with all
// that belongs to it ([Copy]). Releases are read by package source and written by
// package publish.
package repository

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/tofu-oci/tofu-oci/internal/transfer"
	"github.com/tofu-oci/tofu-oci/pkg/artifact"
	"github.com/tofu-oci/tofu-oci/pkg/sums"
	"github.com/tofu-oci/tofu-oci/pkg/template"
)

// Reader is the reading half of a [Repository]. Content that is missing is
// [ErrNotFound], a repository that is missing [ErrNoRepository], a refusal
// [provider.ErrDenied]; a tag that leads to nothing is a *[DanglingTagError].
type Reader interface {
	// String names the repository as people write it.
	String() string
	// Traits are the same during the value's whole life.
	Traits() Traits
	// Tags lists all tags, in no particular order.
	Tags(ctx context.Context) ([]string, error)
	// Manifest reads a manifest or index by tag or digest, up to
	// [artifact.MaxManifestSize] bytes. The bytes have the descriptor's digest.
	Manifest(ctx context.Context, reference string) (ocispec.Descriptor, []byte, error)
	// Blob opens a blob. The bytes are not verified yet: see [Verified].
	Blob(ctx context.Context, d ocispec.Descriptor) (io.ReadCloser, error)
	// Stat gives a blob's size in bytes without reading it.
	Stat(ctx context.Context, d digest.Digest) (int64, error)
}

// Repository is where releases lie and go.
type Repository interface {
	Reader
	// PushBlob stores a blob; content has to be what d says. It is read once, so
	// whoever repeats a push opens it again.
	PushBlob(ctx context.Context, d ocispec.Descriptor, content io.Reader) error
	// PushManifest stores a manifest under its digest.
	PushManifest(ctx context.Context, m artifact.Blob) error
	// PushTag stores a manifest under a tag that still is at was (empty: is not
	// there), else the error is [ErrTagMoved]. Whether the look and the write are
	// one step is a trait.
	PushTag(ctx context.Context, m artifact.Blob, tag string, was digest.Digest) error
}

// Open returns the repository that a reference names. Nothing is contacted or
// created yet.
func Open(ref template.Reference, o Options) (Repository, error) {
	if ref.IsLayout() {
		return newLayout(ref.Layout, cmp.Or(o.ConfirmDelay, defaultConfirmDelay)), nil
	}
	return newRegistry(ref, o)
}

// Verified opens a blob through the verifying reader of package sums; name is for
// its errors.
func Verified(ctx context.Context, repo Reader, d ocispec.Descriptor, name string) (io.ReadCloser, error) {
	body, err := repo.Blob(ctx, d)
	if err != nil {
		return nil, err
	}
	verified := sums.NewReadCloser(body, name, d.Size, d.Digest)
	if inParts, ok := body.(*transfer.RangeReader); ok {
		return &partsReader{verified, inParts}, nil
	}
	return verified, nil
}

// readManifest reads a whole manifest and checks its digest. The size is what is
// expected, and only saves memory on the way.
func readManifest(r io.Reader, d ocispec.Descriptor) ([]byte, error) {
	expected := max(min(d.Size, artifact.MaxManifestSize), 0)
	buffer := bytes.NewBuffer(make([]byte, 0, expected+bytes.MinRead))
	if _, err := buffer.ReadFrom(io.LimitReader(r, artifact.MaxManifestSize+1)); err != nil {
		return nil, err
	}
	data := buffer.Bytes()
	if len(data) > artifact.MaxManifestSize {
		return nil, &artifact.FormatError{Problem: fmt.Sprintf("document exceeds %d bytes, the most that OpenTofu reads", artifact.MaxManifestSize)}
	}
	if got := digest.FromBytes(data); got != d.Digest {
		return nil, &sums.MismatchError{Name: "manifest", Got: got.String(), Want: d.Digest.String()}
	}
	return data, nil
}

// isThere turns "not found" into false.
func exists(err error) (bool, error) {
	if errors.Is(err, ErrNotFound) || errors.Is(err, ErrNoRepository) {
		return false, nil
	}
	return err == nil, err
}
