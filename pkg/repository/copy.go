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

// copyConcurrency is the default for [CopyOptions.Concurrency].
const copyConcurrency = 4

// CopyOptions configures [Copy]. The zero value copies everything that belongs to a
// release.
type CopyOptions struct {
	// Provider is the expected provider of the release in both repositories. If an
	// annotation contains a different provider, and no alias allows that provider, Copy
	// returns a *[ProviderMismatchError]. If Provider is zero, the source's annotation
	// determines the provider.
	Provider provider.Address
	Aliases  provider.Aliases
	// Force overwrites the target's tag even if Copy would otherwise fail or keep the
	// tag. See [Copy].
	Force bool
	// DryRun compares and verifies without writing anything. The result describes what
	// would be done.
	DryRun bool
	// Reread makes Copy read the target's existing blobs and replace corrupt blobs.
	// Otherwise, Copy only checks that the blobs exist.
	Reread bool
	// Verify, if not nil, verifies the signature of the release before anything is
	// sent. If it returns an error, Copy fails. Verify isn't called if the target
	// already has the release under the tag. Use oci.VerifyCopy to create this
	// function.
	Verify func(ctx context.Context, from Reader, release Inspection) (provider.Verdict, error)
	// Commit, if not nil, decides whether the tag is written. To write the tag and read
	// it back, it calls write. In a dry run, write is nil. If Commit returns an error,
	// Copy fails.
	Commit func(ctx context.Context, t Tagging, write func(ctx context.Context) (Inspection, error)) error
	// NoReferrers omits the referrers of the release. Use it for registries that can't
	// store referrers. See [ErrNoReferrersList].
	NoReferrers bool
	// Concurrency is the maximum number of packages that are copied concurrently. If
	// zero, 4 is used.
	Concurrency int
	// Acquire, if not nil, is called with the size of a blob in bytes before the blob
	// is sent. It blocks until Copy can send the blob. Copy calls release after sending
	// the blob. Use Acquire to share a limit among several copies. Concurrency still
	// limits each copy.
	Acquire func(ctx context.Context, size int64) (release func(), err error)
	// Once sends blobs that several releases share. See [Once].
	Once Once
	// Progress reports the progress of package transfers. Only the file name, the
	// digest, and the size of these packages are set.
	Progress provider.Progress
}

// Tagging describes a tag that [Copy] is about to write.
type Tagging struct {
	// Release is the inspection of the source's tag. Existing is the inspection of the
	// target's tag.
	Release, Existing Inspection
	// Forced reports whether the tag is moved only because of Force.
	Forced bool
}

// CopyResult describes what [Copy] did or, in a dry run, would do.
type CopyResult struct {
	Tag string
	// Digest is the digest that the target's tag points to. If Kept is set or a
	// conflict occurred, Digest identifies the existing index. Otherwise, Digest
	// identifies the source's index. Was is the previous digest, or empty if the tag
	// didn't exist.
	Digest, Was digest.Digest
	// Source is the digest of the source's index.
	Source digest.Digest
	// Kept reports whether the tag still points to a different index, which contains all
	// of the source's zips.
	Kept bool
	// Forced reports whether the tag was moved only because of Force.
	Forced bool
	// Repaired reports whether missing or damaged content of the tag was restored.
	Repaired bool
	// Verdict is the result of Verify. It is the zero value if Verify wasn't called.
	Verdict provider.Verdict
	// Tagged reports whether the tag was written. It is false if the tag already pointed
	// to the index, and in dry runs.
	Tagged bool
	// Packages lists the packages of the source, sorted by platform. It is empty if the
	// source could not be read.
	Packages []CopiedPackage
	// Documents lists the source's documents about the release. Packages contains the
	// documents about individual packages. None of these documents can be opened.
	Documents []provider.Document
	// Blobs is the number of blobs sent. Bytes is their total size. Mounted is the
	// number of blobs that the registry mounted from the source repository.
	Blobs, Mounted int
	Bytes          int64
	// Referrers is the number of referrers of the release and its packages, including
	// existing referrers. Attached lists the new referrers by title or, if a referrer
	// has no title, by type. The list is sorted.
	Referrers int
	Attached  []string
}

// CopiedPackage describes a package of a [CopyResult].
type CopiedPackage struct {
	Package provider.Package
	// Sent and Mounted report how the zip was transferred. If both are false, the target
	// already had it.
	Sent, Mounted bool
}

// Copy copies a tagged release to another repository, byte for byte, so digests don't
// change. It includes the referrers of the index and of the manifests, using the
// referrers API or the referrers tag. Copy sends only content that the target lacks,
// mounts blobs within one registry, and writes the tag last. To complete a failed copy,
// run it again.
//
// If the tag already exists, Copy moves it to the source's index only if the source
// release meets three conditions: it has the same zip for each platform of the existing
// release, it has a document with the same name for each existing document, and it adds
// platforms or documents. If the existing release contains all of the source's zips,
// Copy keeps the existing index in two cases: the source has no additional documents,
// or the source lacks some existing documents. In all other cases, Copy returns a
// *[ConflictError].
//
// Copy also returns errors from both repositories, *[ProviderMismatchError],
// [ErrTagMoved] for either tag, and [ErrNoReferrersList]. If Copy returns an error, the
// result describes what was done before the error occurred.
func Copy(ctx context.Context, from Reader, to Repository, tag string, o CopyOptions) (CopyResult, error) {
	c := newCopier(from, to, o)
	c.result.Tag = tag
	if err := c.copy(ctx, tag); err != nil {
		return c.result, fmt.Errorf("copying %s:%s to %s: %w", from, tag, to, err)
	}
	return c.result, nil
}

func (c *copier) copy(ctx context.Context, tag string) error {
	// 1. Inspect the source and the target.
	release, err := Inspect(ctx, c.from, tag, DepthManifests)
	if err != nil {
		return err
	}
	if err := c.checkSource(release); err != nil {
		return err
	}
	existing, err := c.checkTarget(ctx, release)
	if err != nil || c.result.Kept {
		return err
	}
	same := existing.Digest == release.Digest && !existing.Dangling
	if c.options.Verify != nil && !same {
		if c.result.Verdict, err = c.options.Verify(ctx, c.from, release); err != nil {
			return err
		}
	}
	tagging := Tagging{Release: release, Existing: existing, Forced: c.result.Forced}
	if c.options.DryRun && !same { // Copy would send all missing content
		if c.options.Commit != nil {
			return c.options.Commit(ctx, tagging, nil)
		}
		return nil
	}
	// 2. Copy the manifests with their blobs. The index is sent with its tag or, if it has
	// referrers, before them.
	c.release, c.existing = release, existing
	if err := c.walk.visitBelow(ctx, release.Root()); err != nil {
		return err
	}
	c.result.Repaired = c.result.Repaired || same && c.foundMissing
	// 3. Copy the referrers.
	if !c.options.NoReferrers {
		if err := c.walk.visitReferrers(ctx, c.from, maxConcurrentRequests, c.copyReferrers); err != nil {
			return err
		}
	}
	if same {
		return nil
	}
	// 4. Write the tag if the source still has the copied release.
	if err := c.checkSourceUnchanged(ctx, release); err != nil {
		return err
	}
	write := func(ctx context.Context) (Inspection, error) { return c.tag(ctx, release.Root(), existing) }
	if c.options.Commit != nil {
		return c.options.Commit(ctx, tagging, write)
	}
	_, err = write(ctx)
	return err
}

// tag writes the tag and reads it back. If another run has moved the tag to the same
// index, tag returns nil.
func (c *copier) tag(ctx context.Context, index artifact.Blob, was Inspection) (Inspection, error) {
	moved := c.contentSender().complete(ctx, index, func() error { return c.to.PushTag(ctx, index, was.Tag, was.Digest) })
	if moved != nil && !errors.Is(moved, ErrTagMoved) {
		return Inspection{}, moved
	}
	now, err := readBack(ctx, c.to, was.Tag)
	if err == nil && now.Digest != index.Descriptor.Digest {
		err = cmp.Or(moved, fmt.Errorf("reading the tag back: %w", ErrTagMoved))
	}
	c.result.Tagged = err == nil && moved == nil
	return now, err
}
