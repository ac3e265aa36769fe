package repository

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/opencontainers/go-digest"

	"github.com/tofu-oci/tofu-oci/pkg/artifact"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// DefaultCopyConcurrency is how many packages are copied at once.
const DefaultCopyConcurrency = 4

// CopyOptions of [Copy]; the zero value copies all that belongs to a release.
type CopyOptions struct {
	// Force replaces another release under the tag instead of refusing it.
	Force bool
	// Judge says what the signature of the release proves, before anything is sent:
	// it is given the source and what was found there. Its error ends the copy. What
	// the target has under the tag already is not judged again. nil judges nothing;
	// oci.JudgeCopy makes such a function of one for releases.
	Judge func(ctx context.Context, from Reader, release Inspection) (provider.Verdict, error)
	// NoReferrers leaves out what refers to the release, for registries that
	// cannot hold it: see [ErrSubject].
	NoReferrers bool
	// Concurrency is how many packages are copied at once; 0 is
	// [DefaultCopyConcurrency].
	Concurrency int
	// Acquire is asked before a blob is sent, with its size in bytes, and waits until
	// it may be; it has been sent when release is called. It is for several copies
	// that share a limit, and limits further than Concurrency. May be nil.
	Acquire func(ctx context.Context, size int64) (release func(), err error)
	// Settle is how long to wait before looking whether another run has
	// overwritten a list of referrers, where tags are not atomic; 0 looks at once.
	Settle time.Duration
	// Backoff is the pause after the given number of failures; nil doubles from
	// half a second.
	Backoff func(failed int) time.Duration
	// Progress is told what moves: packages that have a file name, a digest and a
	// size only.
	Progress provider.Progress
}

// Copied says what [Copy] did.
type Copied struct {
	Tag string
	// Digest is that of the index, the same at both ends.
	Digest digest.Digest
	// Verdict is what Judge said; none where it was not asked.
	Verdict provider.Verdict
	// Tagged tells that the tag was written; else it was there already.
	Tagged bool
	// Blobs and Bytes count what was sent, Mounted the blobs that the registry
	// took over from the other repository.
	Blobs, Mounted int
	Bytes          int64
	// Referrers counts the manifests that refer to the release and its packages,
	// sent or there already.
	Referrers int
}

// SourceMovedError says that a tag was moved while it was copied. Nothing was
// tagged.
type SourceMovedError struct {
	// Repository is the one that was read.
	Repository, Tag string
	// Was is what was copied, Is what the tag is at now, empty when it is gone.
	Was, Is digest.Digest
}

func (e *SourceMovedError) Error() string {
	return fmt.Sprintf("%s:%s was moved while it was copied, from %s to %s: copy it again", e.Repository, e.Tag, e.Was, cmp.Or(string(e.Is), "nothing"))
}

// Copy brings the release under a tag into another repository, byte for byte:
// digests stay. What refers to its index and its manifests comes along, by the
// referrers API or the referrers tag. What is there is not sent, within one
// registry it is mounted, and the tag is written last, so that a run which failed
// is completed by running it again. Errors are those of both repositories,
// *[ForeignError], *[ConflictError], *[SourceMovedError] and [ErrSubject]; the
// result says what was done until then.
func Copy(ctx context.Context, from Reader, to Repository, tag string, o CopyOptions) (Copied, error) {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	c := newCopier(from, to, o, stop)
	c.done.Tag = tag
	err := c.copy(ctx, tag)
	if first := context.Cause(ctx); err != nil && first != nil {
		err = first // the others are of work that was cancelled
	}
	if err != nil {
		return c.done, fmt.Errorf("copying %s:%s to %s: %w", from, tag, to, err)
	}
	return c.done, nil
}

func (c *copier) copy(ctx context.Context, tag string) error {
	// 1. What is to be copied, and whether it may go there.
	release, err := Inspect(ctx, c.from, tag, DepthManifests)
	if err != nil {
		return err
	}
	if err := copyable(release); err != nil {
		return err
	}
	there, err := c.welcome(ctx, release)
	if err != nil {
		return err
	}
	same := there.Digest == release.Digest && !there.Lost
	if c.options.Judge != nil && !same {
		if c.done.Verdict, err = c.options.Judge(ctx, c.from, release); err != nil {
			return err
		}
	}
	c.learn(release, there)
	// 2. Manifests and what they name; then the index, without its tag.
	index := artifact.Blob{Descriptor: release.Descriptor, Bytes: release.Bytes}
	if err := c.manifest(ctx, index, maxCopyDepth); err != nil {
		return err
	}
	// 3. What refers to them.
	if err := c.referrers(ctx); err != nil {
		return err
	}
	// 4. The tag, if it still is what was copied.
	c.done.Digest = release.Digest
	if same {
		return nil
	}
	if err := c.unmoved(ctx, release); err != nil {
		return err
	}
	return c.tag(ctx, index, there)
}

// tag writes the tag and reads it back. Another run that moved it may have copied
// the same.
func (c *copier) tag(ctx context.Context, index artifact.Blob, was Inspection) error {
	moved := c.to.PushTag(ctx, index, was.Tag, was.Digest)
	if moved != nil && !errors.Is(moved, ErrTagMoved) {
		return moved
	}
	now, err := ReadBack(ctx, c.to, was.Tag)
	if err == nil && now.Digest != index.Descriptor.Digest {
		err = cmp.Or(moved, fmt.Errorf("reading the tag back: %w", ErrTagMoved))
	}
	c.done.Tagged = err == nil && moved == nil
	return err
}
