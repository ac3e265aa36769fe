package repository

import (
	"context"
	"time"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// Capabilities describes the differences between repositories. If a function is nil, the
// repository doesn't support the operation.
type Capabilities struct {
	// Registry is the host or host:port of the registry, and Name is the name of the
	// repository. Both are empty for image layouts.
	Registry, Name string
	// AtomicTags reports whether PushTag checks and writes a tag atomically. Registries
	// have no such operation, so two concurrent runs can overwrite each other's tags.
	AtomicTags bool
	// ConfirmDelay exceeds the time that a run needs to read and then write a tag. If a
	// run writes a tag and then waits for this delay, every run that read the previous
	// tag has finished its own write.
	ConfirmDelay time.Duration
	// Backoff returns the pause after the given number of failed transfers. If nil, the
	// pause starts at half a second and doubles.
	Backoff func(failed int) time.Duration
	// DeleteTag deletes a tag if it still points to was. Otherwise, it returns
	// [ErrTagMoved]. It doesn't delete the content, which the registry's garbage
	// collection removes. If the tag doesn't exist, DeleteTag returns nil. If the
	// registry doesn't delete tags, DeleteTag returns [ErrTagNotDeleted]. Only a
	// request can determine whether a registry deletes tags.
	DeleteTag func(ctx context.Context, tag string, was digest.Digest) error
	// DeleteManifest deletes a manifest and, if tag is not empty, this tag. If the tag
	// points to a different manifest, DeleteManifest returns [ErrTagMoved]. If the
	// manifest doesn't exist, DeleteManifest deletes only the tag.
	//
	// Registries delete all tags of the manifest, and their garbage collection removes
	// the content. If a registry doesn't delete manifests, DeleteManifest returns
	// [ErrTagNotDeleted]. In image layouts, DeleteManifest deletes all content that
	// only this manifest needs. It returns [ErrInUse] if another tag points to the
	// manifest.
	DeleteManifest func(ctx context.Context, d digest.Digest, tag string) error
	// BlobPath returns the path of a blob's file, even if the file doesn't exist. It is
	// set if blobs are local files.
	BlobPath func(d digest.Digest) (string, error)
	// Referrers lists the referrers of a manifest with the referrers API. If the
	// registry doesn't have this API, supported is false.
	Referrers func(ctx context.Context, subject digest.Digest) (list []ocispec.Descriptor, supported bool, err error)
	// UntaggedReferrers returns the referrers of a manifest that an image layout
	// contains without a tag. Tools such as ORAS create such referrers, because they
	// write no referrers list.
	UntaggedReferrers func(ctx context.Context, subject digest.Digest) ([]ocispec.Descriptor, error)
	// Mount makes a blob from another repository in the same registry available in this
	// repository without sending the blob. If the registry doesn't support mounting, or
	// the credentials don't permit it, mounted is false.
	Mount func(ctx context.Context, d ocispec.Descriptor, from string) (mounted bool, err error)
	// Redirect returns the URL to which the registry redirects requests for a blob. The
	// URL is on a different host and includes everything needed to read the blob, so
	// anyone who has the URL can read the blob until the URL expires. If the registry
	// sends the blob itself, the URL is empty.
	Redirect func(ctx context.Context, d ocispec.Descriptor) (url string, err error)
	// Missing returns the optional features that the registry lacks, as far as earlier
	// requests with the same [Repository] have shown. It sends no request.
	Missing func() MissingFeatures
	// Writable returns an error if the image layout can't be written. It stores nothing.
	Writable func(ctx context.Context) error
}

// MissingFeatures describes the optional features that a registry lacks. Operations
// then use slower requests.
type MissingFeatures struct {
	// BlobHead and ManifestHead report whether responses to HEAD requests for blobs and
	// manifests are useless. GET requests are sent instead.
	BlobHead, ManifestHead bool
	// ManifestSize reports whether responses to HEAD requests for manifests lack the
	// size. OpenTofu requires the size, but tofu-oci doesn't.
	ManifestSize bool
	// BlobRanges reports whether the registry sends complete blobs instead of ranges. Large
	// blobs are then read over one connection.
	BlobRanges bool
}

// checkCapabilities returns an error if the capabilities of a repository are inconsistent.
func checkCapabilities(repo Reader) error {
	t := repo.Capabilities()
	problem := ""
	switch {
	case (t.Registry == "") != (t.Name == ""):
		problem = "Registry and Name must be set together"
	case t.BlobPath != nil && t.Registry != "":
		problem = "BlobPath is set for a repository in the registry " + t.Registry
	case t.Mount != nil && t.Registry == "":
		problem = "Mount requires Registry"
	case t.Redirect != nil && t.Registry == "":
		problem = "Redirect requires Registry"
	case t.Referrers != nil && t.Registry == "":
		problem = "Referrers requires Registry"
	}
	if problem == "" {
		return nil
	}
	return provider.Errorf(provider.Refused, "repository implementation %s has inconsistent capabilities: %s", repo, problem)
}
