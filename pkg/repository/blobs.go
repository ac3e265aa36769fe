package repository

import (
	"context"
	"fmt"
	"io"
	"sync/atomic"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/tofu-oci/tofu-oci/internal/memo"
	"github.com/tofu-oci/tofu-oci/internal/transfer"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/sums"
)

// Verified opens a blob and verifies it with the reader of package sums. name identifies the
// blob in errors.
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

// blobChecker checks each blob only once, because manifests share most of their blobs.
type blobChecker struct {
	repo Reader
	// read specifies whether the content of each blob is read.
	read    bool
	results memo.Memo[digest.Digest, bool]
	// manifests is the total size of the manifests in memory.
	manifests atomic.Int64
}

// has reports whether a blob exists and has the right size. If b.read is set, has also
// checks the content.
func (b *blobChecker) has(ctx context.Context, d ocispec.Descriptor) (bool, error) {
	return b.results.Get(ctx, d.Digest, func(ctx context.Context) (bool, error) {
		exists, err := hasBlob(ctx, b.repo, d)
		if !exists || err != nil || !b.read {
			return exists, err
		}
		return isBlobIntact(ctx, b.repo, d)
	})
}

// hasBlob reports whether a blob exists and has the right size.
func hasBlob(ctx context.Context, repo Reader, d ocispec.Descriptor) (bool, error) {
	size, err := repo.Stat(ctx, d.Digest)
	exists, err := isFound(err)
	return exists && size == d.Size, err
}

// isBlobIntact reads a blob and reports whether its content matches the digest.
func isBlobIntact(ctx context.Context, repo Reader, d ocispec.Descriptor) (bool, error) {
	body, err := Verified(ctx, repo, d, "blob "+d.Digest.String())
	if err == nil {
		_, err = io.Copy(io.Discard, body)
		_ = body.Close()
	}
	if err != nil && isFinding(err) {
		return false, nil
	}
	return err == nil, err
}

// ErrCorruptRetained is returned if a registry accepted a blob or manifest but kept its damaged
// copy. The distribution registry does this because it doesn't verify existing content.
var ErrCorruptRetained = provider.Errorf(provider.Unverified, "registry accepted the content but kept its damaged copy")

// ReplaceBlob pushes a missing or damaged blob. push returns the size of the blob in
// bytes. If the repository already contained a blob with this digest, ReplaceBlob reads
// the blob back. It returns [ErrCorruptRetained] if the blob is still damaged.
func ReplaceBlob(ctx context.Context, repo Reader, blob digest.Digest, push func() (int64, error)) error {
	_, err := repo.Stat(ctx, blob)
	exists, err := isFound(err)
	if err != nil {
		return err
	}
	size, err := push()
	if err != nil || !exists {
		return err
	}
	now := blobChecker{repo: repo, read: true}
	whole, err := now.has(ctx, ocispec.Descriptor{Digest: blob, Size: size})
	if err == nil && !whole {
		err = fmt.Errorf("replacing %s in %s: %w", blob, repo, ErrCorruptRetained)
	}
	return err
}
