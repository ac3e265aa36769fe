package repository

import (
	"bytes"
	"context"
	"fmt"
	"io"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/tofu-oci/tofu-oci/internal/memo"
	"github.com/tofu-oci/tofu-oci/internal/schedule"
	"github.com/tofu-oci/tofu-oci/internal/transfer"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/sums"
)

// Verified opens a blob and returns a reader that verifies the content. name identifies
// the blob in errors.
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

// checkBlob reports whether a blob exists and has the right size. If depth is
// [DepthContent], it also reads the blob and compares its digest.
func checkBlob(ctx context.Context, repo Reader, d ocispec.Descriptor, depth Depth) (bool, error) {
	exists, err := hasBlob(ctx, repo, d)
	if !exists || err != nil || depth < DepthContent {
		return exists, err
	}
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

// hasBlob reports whether a blob exists and has the right size.
func hasBlob(ctx context.Context, repo Reader, d ocispec.Descriptor) (bool, error) {
	size, err := repo.Stat(ctx, d)
	exists, err := isFound(err)
	return exists && size == d.Size, err
}

// ErrCorruptRetained is returned if a registry accepted a blob or manifest but kept its
// damaged copy. CNCF Distribution does this because it doesn't verify existing content.
var ErrCorruptRetained = provider.Errorf(provider.Unverified, "registry accepted the content but kept its damaged copy")

// Once calls send, unless an earlier call has already succeeded for the same blob in the
// same repository. A nil Once always calls send.
type Once func(ctx context.Context, blob digest.Digest, send func(context.Context) error) error

func (o Once) do(ctx context.Context, blob digest.Digest, send func(context.Context) error) error {
	if o == nil {
		return send(ctx)
	}
	return o(ctx, blob, send)
}

// ReplaceBlob calls push to push a missing or damaged blob. push returns the size of
// the blob in bytes. If the repository already contained a blob with this digest,
// ReplaceBlob reads the blob back. It returns [ErrCorruptRetained] if the blob is still
// damaged.
func ReplaceBlob(ctx context.Context, repo Reader, blob digest.Digest, push func() (int64, error)) error {
	_, err := repo.Stat(ctx, ocispec.Descriptor{Digest: blob})
	exists, err := isFound(err)
	if err != nil {
		return err
	}
	size, err := push()
	if err != nil || !exists {
		return err
	}
	whole, err := checkBlob(ctx, repo, ocispec.Descriptor{Digest: blob, Size: size}, DepthContent)
	if err == nil && !whole {
		err = fmt.Errorf("replacing %s in %s: %w", blob, repo, ErrCorruptRetained)
	}
	return err
}

// sendDocument pushes a document, unless the inspection found it intact.
func sendDocument(ctx context.Context, repo Repository, retrier transfer.Retrier, d provider.Document, was Inspection, once Once) error {
	if was.IsMissing(d.Digest) {
		return ReplaceBlob(ctx, repo, d.Digest, func() (int64, error) { return d.Size, pushDocument(ctx, repo, retrier, d) })
	}
	if was.hasBlob(d.Digest) {
		return nil
	}
	return once.do(ctx, d.Digest, func(ctx context.Context) error { return pushMissing(ctx, repo, retrier, d) })
}

// isUnchecked reports whether a blob is sent without first checking whether it exists.
// For a small blob, this check costs more than it saves.
func isUnchecked(repo Reader, size int64) bool {
	return 0 <= size && size <= schedule.MaxSmall && repo.Capabilities().BlobPath == nil
}

// pushMissing pushes a document unless it exists.
func pushMissing(ctx context.Context, repo Repository, retrier transfer.Retrier, d provider.Document) error {
	if !isUnchecked(repo, d.Size) {
		exists, err := hasBlob(ctx, repo, ocispec.Descriptor{MediaType: d.MediaType, Digest: d.Digest, Size: d.Size})
		if exists || err != nil {
			return err
		}
	}
	return pushDocument(ctx, repo, retrier, d)
}

// pushDocument opens a document and pushes it, with retries.
func pushDocument(ctx context.Context, repo Repository, retrier transfer.Retrier, d provider.Document) error {
	return retrier.Do(ctx, fmt.Sprintf("pushing blob %s", d.Digest), func() error {
		content, err := d.Open(ctx)
		if err != nil {
			return transfer.MarkExpired(err)
		}
		defer func() { _ = content.Close() }()
		err = repo.PushBlob(ctx, ocispec.Descriptor{MediaType: d.MediaType, Digest: d.Digest, Size: d.Size}, content)
		return transfer.MarkExpired(err)
	})
}

const (
	// maxSmallBlob is the maximum size of a cached blob in bytes. maxSmallBlobs limits
	// the total size of all cached blobs.
	maxSmallBlob  = 64 << 10
	maxSmallBlobs = 1 << 20
)

// smallBlobs caches the content of small blobs, because a copy first verifies them and
// then sends them.
type smallBlobs struct {
	Reader
	content *memo.Memo[digest.Digest, []byte]
}

func newSmallBlobs(repo Reader) Reader {
	sizeOf := func(data []byte) int64 { return int64(len(data)) }
	return smallBlobs{repo, &memo.Memo[digest.Digest, []byte]{Size: maxSmallBlobs, SizeOf: sizeOf}}
}

func (r smallBlobs) Blob(ctx context.Context, d ocispec.Descriptor) (io.ReadCloser, error) {
	if d.Size > maxSmallBlob {
		return r.Reader.Blob(ctx, d)
	}
	data, err := r.content.Get(ctx, d.Digest, func(ctx context.Context) ([]byte, error) {
		body, err := r.Reader.Blob(ctx, d)
		if err != nil {
			return nil, err
		}
		defer func() { _ = body.Close() }()
		return io.ReadAll(io.LimitReader(body, d.Size+1)) // one extra byte reveals that the blob is too large
	})
	return io.NopCloser(bytes.NewReader(data)), err
}
