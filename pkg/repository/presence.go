package repository

import (
	"context"
	"io"
	"sync/atomic"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/tofu-oci/tofu-oci/internal/memo"
)

// presence asks for each blob once, though manifests share most of them.
type presence struct {
	repo Reader
	// read tells to read each blob.
	read  bool
	asked memo.Memo[digest.Digest, bool]
	// manifests counts the bytes of those that are kept.
	manifests atomic.Int64
}

// has reports whether a blob is there in its full size.
func (b *presence) has(ctx context.Context, d ocispec.Descriptor) (bool, error) {
	return b.asked.Get(ctx, d.Digest, func(ctx context.Context) (bool, error) {
		there, err := has(ctx, b.repo, d)
		if !there || err != nil || !b.read {
			return there, err
		}
		return intact(ctx, b.repo, d)
	})
}

// has reports whether a blob is there in its full size.
func has(ctx context.Context, repo Reader, d ocispec.Descriptor) (bool, error) {
	size, err := repo.Stat(ctx, d.Digest)
	there, err := isThere(err)
	return there && size == d.Size, err
}

// intact reads a blob and tells whether it has its bytes.
func intact(ctx context.Context, repo Reader, d ocispec.Descriptor) (bool, error) {
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
