package repository

import (
	"context"
	"slices"
	"time"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/tofu-oci/tofu-oci/internal/bounded"
	"github.com/tofu-oci/tofu-oci/internal/schedule"
	"github.com/tofu-oci/tofu-oci/internal/transfer"
	"github.com/tofu-oci/tofu-oci/pkg/artifact"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// PushOptions configures [Push]. The zero value is valid.
type PushOptions struct {
	// Progress reports retried transfers.
	Progress provider.Progress
	// Own lists the packages that the tagged index must contain. If another run moves
	// the tag to an index that lacks one of them, Push returns [ErrTagMoved].
	Own []provider.Package
	// Concurrent declares that other jobs can push other platforms at the same time. If
	// the repository can't move tags atomically, Push waits for these jobs and reads
	// the tag again.
	Concurrent bool
	// Commit, if not nil, decides whether the tag is written. To write the tag and read
	// it back, it calls write. If Commit returns an error, Push fails.
	Commit func(ctx context.Context, write func(ctx context.Context) (Inspection, error)) error
	// Once sends blobs that several releases share. See [Once].
	Once Once
	// Resend, if not nil, sends a zip even if the repository reports that it has the
	// zip. Push calls it if the registry refuses a manifest because content is missing.
	// If the zip isn't available, Resend returns [ErrNotFound].
	Resend func(ctx context.Context, zip digest.Digest) error
}

// Push pushes a packed release to a repository that already has its zips. It pushes
// documents, manifests, and finally the index under its tag, if the tag has not changed
// since it was inspected. Push doesn't send content that the inspection found intact.
//
// Push returns an inspection of the tag after the push. Another run might have moved
// the tag by then. slow reports whether the push took so long that concurrent jobs
// might have overwritten each other's tags. Push returns errors from the repository,
// including [ErrTagMoved], and errors from reading documents.
func Push(ctx context.Context, repo Repository, packed artifact.Packed, was Inspection, o PushOptions) (now Inspection, slow bool, err error) {
	began := time.Now()
	// 1. Push the blobs of the manifests.
	retrier := transfer.Retrier{Backoff: repo.Capabilities().Backoff, Progress: o.Progress}
	err = schedule.All(ctx, maxConcurrentRequests, packed.Documents, func(ctx context.Context, _ int, d provider.Document) error {
		return sendDocument(ctx, repo, retrier, d, was, o.Once)
	})
	if err != nil {
		return now, false, err
	}
	// 2. Push the manifests.
	content := packedContent{repo: repo, packed: packed, was: was, retrier: retrier, resendZip: o.Resend}
	err = schedule.All(ctx, maxConcurrentRequests, packed.Manifests, func(ctx context.Context, _ int, m artifact.Blob) error {
		if f, isInspected := was.manifest(m.Descriptor.Digest); isInspected && f.Err == nil {
			return nil
		}
		return content.put(ctx, m)
	})
	if err != nil {
		return now, false, err
	}
	// 3. Write the tag.
	confirm := func(ctx context.Context) (Inspection, error) {
		now, slow, err = confirmTag(ctx, repo, packed.Index.Descriptor.Digest, was.Tag, o, began)
		return now, err
	}
	write := func(ctx context.Context) (Inspection, error) {
		err := content.contentSender().complete(ctx, packed.Index, func() error { return repo.PushTag(ctx, packed.Index, was.Tag, was.Digest) })
		if err != nil {
			return Inspection{}, err
		}
		return confirm(ctx)
	}
	switch isWritten := packed.Index.Descriptor.Digest == was.Digest && !was.Dangling; {
	case isWritten:
		_, err = confirm(ctx)
	case o.Commit != nil:
		err = o.Commit(ctx, write)
	default:
		_, err = write(ctx)
	}
	return now, slow, err
}

// confirmTag reads a tag back. If other jobs can write the tag concurrently, it waits and
// reads the tag again. It waits at least twice the time that this job took to push the
// release. slow reports whether other jobs might still have overwritten the tag.
func confirmTag(ctx context.Context, repo Repository, index digest.Digest, tag string, o PushOptions, began time.Time) (now Inspection, slow bool, err error) {
	var took time.Duration
	capabilities := repo.Capabilities()
	for settled := capabilities.AtomicTags || !o.Concurrent; ; settled = true {
		if now, err = readBack(ctx, repo, tag); err != nil {
			return now, false, err
		}
		if now.Digest != index && !now.hasAll(o.Own) {
			return now, false, ErrTagMoved
		}
		if settled {
			return now, took > capabilities.ConfirmDelay, nil
		}
		took = time.Since(began)
		if err := bounded.Pause(ctx, max(capabilities.ConfirmDelay, 2*took)); err != nil {
			return now, false, err
		}
	}
}

// packedContent is the content of a packed release that is pushed to a repository.
type packedContent struct {
	repo      Repository
	packed    artifact.Packed
	was       Inspection
	retrier   transfer.Retrier
	resendZip func(ctx context.Context, zip digest.Digest) error
}

func (c packedContent) put(ctx context.Context, m artifact.Blob) error {
	return c.contentSender().complete(ctx, m, func() error { return putManifest(ctx, c.repo, m, c.was) })
}

// contentSender sends content of the release again.
func (c packedContent) contentSender() contentSender {
	return contentSender{
		put: c.put,
		manifest: func(_ context.Context, d ocispec.Descriptor) (artifact.Blob, error) {
			i := slices.IndexFunc(c.packed.Manifests, func(m artifact.Blob) bool { return m.Descriptor.Digest == d.Digest })
			if i < 0 {
				return artifact.Blob{}, ErrNotFound
			}
			return c.packed.Manifests[i], nil
		},
		blob: func(ctx context.Context, d ocispec.Descriptor) error {
			i := slices.IndexFunc(c.packed.Documents, func(document provider.Document) bool { return document.Digest == d.Digest })
			switch {
			case i >= 0:
				return pushDocument(ctx, c.repo, c.retrier, c.packed.Documents[i])
			case c.resendZip != nil:
				return c.resendZip(ctx, d.Digest)
			}
			return ErrNotFound
		},
	}
}

// hasAll reports whether the index lists the zips of all given packages.
func (i Inspection) hasAll(packages []provider.Package) bool {
	return !slices.ContainsFunc(packages, func(p provider.Package) bool {
		t, listed := i.Index.Target(p.Platform)
		d, known := t.Digest()
		return !listed || !known || d != p.Digest
	})
}
