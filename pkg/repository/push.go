package repository

import (
	"bytes"
	"context"
	"fmt"
	"time"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"golang.org/x/sync/errgroup"

	"github.com/tofu-oci/tofu-oci/internal/transfer"
	"github.com/tofu-oci/tofu-oci/pkg/artifact"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// PushOptions of [Push]; the zero value is good.
type PushOptions struct {
	// Backoff is the pause after the given number of failures; nil doubles from
	// half a second.
	Backoff func(failed int) time.Duration
	// Progress is told of what is tried again.
	Progress provider.Progress
}

// Push brings a packed release into a repository that has its zips already:
// documents, manifests, and the index under its tag last, if the tag still is as
// it was inspected. What that found whole is not sent. Then the tag is read back:
// it is at another index than ours where another run has moved it since. Errors
// are those of the repository, [ErrTagMoved] among them, and of the documents.
func Push(ctx context.Context, repo Repository, packed artifact.Packed, was Inspection, o PushOptions) (now Inspection, err error) {
	// 1. What the manifests name.
	retrier := transfer.Retrier{Backoff: o.Backoff, Progress: o.Progress}
	config := provider.Document{Name: "the config", MediaType: packed.Config.Descriptor.MediaType}.WithBytes(packed.Config.Bytes)
	err = each(ctx, append([]provider.Document{config}, packed.Documents...), func(ctx context.Context, d provider.Document) error {
		return pushMissing(ctx, repo, retrier, was, d)
	})
	if err != nil {
		return now, err
	}
	// 2. The manifests.
	err = each(ctx, packed.Manifests, func(ctx context.Context, m artifact.Blob) error {
		if was.found(m.Descriptor.Digest) {
			return nil
		}
		return putManifest(ctx, repo, m, was)
	})
	if err != nil {
		return now, err
	}
	// 3. The tag, and what became of it.
	if packed.Index.Descriptor.Digest != was.Digest || was.Lost {
		if err := repo.PushTag(ctx, packed.Index, was.Tag, was.Digest); err != nil {
			return now, err
		}
	}
	return ReadBack(ctx, repo, was.Tag)
}

// found reports whether a manifest was found undamaged.
func (i Inspection) found(manifest digest.Digest) bool {
	for _, f := range i.Platforms {
		if f.Err == nil && f.Target.Descriptor.Digest == manifest {
			return true
		}
	}
	return false
}

// ErrTagLost says that a repository took a tag and does not have it.
var ErrTagLost = provider.Errorf(provider.Transient, "the repository took the tag and does not show it")

// ReadBack looks at a tag that was written. Errors are those of the repository,
// and [ErrTagLost].
func ReadBack(ctx context.Context, repo Reader, tag string) (Inspection, error) {
	now, err := Inspect(ctx, repo, tag, DepthIndex)
	if err == nil && !now.Exists() {
		err = ErrTagLost
	}
	if err != nil {
		return now, fmt.Errorf("reading the tag back: %w", err)
	}
	return now, nil
}

// pushMissing pushes a document unless it is there. What an inspection found
// damaged is not there, whatever the repository says.
func pushMissing(ctx context.Context, repo Repository, retrier transfer.Retrier, was Inspection, d provider.Document) error {
	blob := ocispec.Descriptor{MediaType: d.MediaType, Digest: d.Digest, Size: d.Size}
	push := func() error {
		return retrier.Do(ctx, fmt.Sprintf("pushing blob %s", d.Digest), func() error {
			return transfer.Renewing(pushDocument(ctx, repo, d))
		})
	}
	if was.Misses(d.Digest) {
		return Replace(ctx, repo, d.Digest, func() (int64, error) { return d.Size, push() })
	}
	if there, err := has(ctx, repo, blob); there || err != nil {
		return err
	}
	return push()
}

// pushDocument reads a document where it lies and pushes it.
func pushDocument(ctx context.Context, repo Repository, d provider.Document) error {
	content, err := d.Open(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = content.Close() }()
	return repo.PushBlob(ctx, ocispec.Descriptor{MediaType: d.MediaType, Digest: d.Digest, Size: d.Size}, content)
}

// each does something for all items, several at once.
func each[T any](ctx context.Context, items []T, do func(context.Context, T) error) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(maxQuestions)
	for _, item := range items {
		group.Go(func() error { return do(ctx, item) })
	}
	return group.Wait()
}

// pushBytes pushes a small blob that is in memory.
func pushBytes(ctx context.Context, repo Repository, b artifact.Blob) error {
	return repo.PushBlob(ctx, b.Descriptor, bytes.NewReader(b.Bytes))
}
