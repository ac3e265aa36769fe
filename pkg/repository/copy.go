package repository

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/opencontainers/go-digest"

	"github.com/tofu-oci/tofu-oci/pkg/artifact"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// copyConcurrency is how many packages are copied at once.
const copyConcurrency = 4

// CopyOptions of [Copy]; the zero value copies all that belongs to a release.
type CopyOptions struct {
	// Provider is whose release both ends are to have: what is annotated with another
	// is a *[ProviderMismatchError], unless one of the Aliases allows it. The zero value takes
	// the source at its word.
	Provider provider.Address
	Aliases  provider.Aliases
	// Force makes the target's tag the source's where it would be refused, or stay as
	// it is: see [Copy].
	Force bool
	// DryRun compares, judges, and writes nothing. What it tells is what would be.
	DryRun bool
	// Reread reads the blobs that the target has under the tag, and sends those again
	// that have other bytes than their digests say. Else it is asked whether they are
	// there.
	Reread bool
	// Judge says what the signature of the release proves, before anything is sent:
	// it is given the source and what was found there. Its error ends the copy. What
	// the target has under the tag already is not judged again. nil judges nothing;
	// oci.JudgeCopy makes such a function of one for releases.
	Judge func(ctx context.Context, from Reader, release Inspection) (provider.Verdict, error)
	// Admit is called before the tag is written. Its error ends the copy. May be nil.
	BeforeTag func(ctx context.Context) error
	// NoReferrers leaves out what refers to the release, for registries that
	// cannot hold it: see [ErrNoReferrersList].
	NoReferrers bool
	// Concurrency is how many packages are copied at once; 0 is
	// 4.
	Concurrency int
	// Acquire is asked before a blob is sent, with its size in bytes, and waits until
	// it may be; it has been sent when release is called. It is for several copies
	// that share a limit, and limits further than Concurrency. May be nil.
	Acquire func(ctx context.Context, size int64) (release func(), err error)
	// Progress is told what moves: packages that have a file name, a digest and a
	// size only.
	Progress provider.Progress
}

// Copied says what [Copy] did, or in a dry run would do.
type CopyResult struct {
	Tag string
	// Digest is what the target's tag is at: the source's index, or with Kept and after
	// a conflict the one that was there. Was is what it was at before, empty when it was not there.
	Digest, Was digest.Digest
	// Source is the digest of the source's index.
	Source digest.Digest
	// Kept tells that the tag stays at another index, which has all the zips that the
	// source has.
	Kept bool
	// Forced tells that the tag was moved, because Force says so.
	Forced bool
	// Repaired tells that content was missing or damaged that the tag needs, and that it
	// is back.
	Repaired bool
	// Verdict is what Judge said; none where it was not asked.
	Verdict provider.Verdict
	// Tagged tells that the tag was written; else it was there already, or a dry run
	// writes none.
	Tagged bool
	// Packages are the source's, sorted by platform; none where it could not be read.
	Packages []CopiedPackage
	// Documents are the source's about the release, as its packages carry them; those
	// about a package are with it. They can't be opened.
	Documents []provider.Document
	// Blobs and Bytes count what was sent, Mounted the blobs that the registry
	// took over from the other repository.
	Blobs, Mounted int
	Bytes          int64
	// Referrers counts the manifests that refer to the release and its packages,
	// sent or there already; Attached names those that were not there, sorted, by
	// their titles, and those without one by their types.
	Referrers int
	Attached  []string
}

// CopiedPackage says what became of a package.
type CopiedPackage struct {
	Package provider.Package
	// Sent and Mounted tell how the zip came there; else the target had it.
	Sent, Mounted bool
}

// Copy brings the release under a tag into another repository, byte for byte:
// digests stay. What refers to its index and its manifests comes along, by the
// referrers API or the referrers tag. What is there is not sent, within one
// registry it is mounted, and the tag is written last, so that a run which failed
// is completed by running it again.
//
// A tag that is there is moved to the source's index when nothing gets lost by that:
// the source has each of its platforms with the same zip, each document by its name,
// and some that it lacks. When it has all the zips already, and the source no more
// evidence or less, it stays as it is. All else is a *[ConflictError].
//
// Other errors are those of both repositories, *[ProviderMismatchError], [ErrTagMoved] of either
// tag, and [ErrNoReferrersList]; the result says what was done until then.
func Copy(ctx context.Context, from Reader, to Repository, tag string, o CopyOptions) (CopyResult, error) {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	c := newCopier(from, to, o, stop)
	c.result.Tag = tag
	err := c.copy(ctx, tag)
	if first := context.Cause(ctx); err != nil && first != nil {
		err = first // the others are of work that was cancelled
	}
	if err != nil {
		return c.result, fmt.Errorf("copying %s:%s to %s: %w", from, tag, to, err)
	}
	return c.result, nil
}

func (c *copier) copy(ctx context.Context, tag string) error {
	// 1. What is to be copied, and whether it may go there.
	release, err := Inspect(ctx, c.from, tag, DepthManifests)
	if err != nil {
		return err
	}
	if err := c.checkSource(release); err != nil {
		return err
	}
	there, err := c.checkTarget(ctx, release)
	if err != nil || c.result.Kept {
		return err
	}
	same := there.Digest == release.Digest && !there.Dangling
	if c.options.Judge != nil && !same {
		if c.result.Verdict, err = c.options.Judge(ctx, c.from, release); err != nil {
			return err
		}
	}
	if c.options.DryRun && !same {
		return nil // all that is not there would be sent
	}
	// 2. Manifests and what they name; then the index, without its tag.
	c.remember(release, there)
	index := artifact.Blob{Descriptor: release.Descriptor, Bytes: release.Bytes}
	if err := c.manifest(ctx, index, maxCopyDepth); err != nil {
		return err
	}
	c.result.Repaired = c.result.Repaired || same && c.foundMissing
	// 3. What refers to them.
	if err := c.referrers(ctx); err != nil || same {
		return err
	}
	// 4. The tag, if it still is what was copied.
	if err := c.checkSourceUnchanged(ctx, release); err != nil {
		return err
	}
	if c.options.BeforeTag != nil {
		if err := c.options.BeforeTag(ctx); err != nil {
			return err
		}
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
	c.result.Tagged = err == nil && moved == nil
	return err
}
