package repository

import (
	"context"
	"time"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// Traits say in what a repository differs from others. A function that is nil is
// something that it cannot do.
type Traits struct {
	// Registry is the registry's host or host:port, and Name the repository's
	// name there; both are empty where there is no registry.
	Registry, Name string
	// AtomicTags tells that PushTag looks and writes in one step. Registries have
	// no such operation: two runs at once may overwrite each other's tag.
	AtomicTags bool
	// Settle is longer than what lies between another run's look at a tag and its write,
	// which are two requests: so long it takes until that run has seen what was written.
	ConfirmDelay time.Duration
	// Backoff returns the pause after the given number of failed transfers. If nil, the
	// pause starts at half a second and doubles.
	Backoff func(failed int) time.Duration
	// Untag removes a tag that still is at was, else the error is [ErrTagMoved]; what
	// it names stays, for the registry's garbage collection to take. A tag that is
	// gone already is no error. The error is [ErrTagNotDeleted] where the registry does not
	// do that, which only trying tells.
	DeleteTag func(ctx context.Context, tag string, was digest.Digest) error
	// BlobPath gives the file of a blob, whether it is there or not, where blobs
	// are local files.
	BlobPath func(d digest.Digest) (string, error)
	// Referrers asks the referrers API what refers to a manifest; supported is
	// false where the registry turns out to have none.
	Referrers func(ctx context.Context, subject digest.Digest) (list []ocispec.Descriptor, supported bool, err error)
	// Mount makes a blob of another repository of the same registry appear in
	// this one, without sending it. mounted is false where the registry does not do
	// that, or not for this login: the login need not be good for both repositories.
	Mount func(ctx context.Context, d ocispec.Descriptor, from string) (mounted bool, err error)
	// Redirect gives the URL of another host, with all that is needed to read it, where
	// the registry sends those who ask for a blob. It is empty where the registry sends
	// the blob itself. Whoever has the URL can read the blob, for as long as the storage
	// behind the registry lets it be good.
	Redirect func(ctx context.Context, d ocispec.Descriptor) (url string, err error)
	// Writable asks whether something may be pushed, and leaves nothing behind, but for
	// a repository that some registries make as soon as an upload begins. The error
	// says why not, as that of a push would.
	Writable func(ctx context.Context) error
}

// checkTraits refuses a repository of which nobody can say what it is.
func checkTraits(repo Reader) error {
	t := repo.Traits()
	problem := ""
	switch {
	case (t.Registry == "") != (t.Name == ""):
		problem = "it names a registry without a repository there, or the other way round"
	case t.BlobPath != nil && t.Registry != "":
		problem = "its blobs are local files, and are at the registry " + t.Registry
	case t.Mount != nil && t.Registry == "":
		problem = "it mounts blobs from repositories of its registry, and names none"
	case t.Redirect != nil && t.Registry == "":
		problem = "it sends those who ask for blobs elsewhere, and names no registry"
	case t.Referrers != nil && t.Registry == "":
		problem = "it asks the referrers API of a registry, and names none"
	}
	if problem == "" {
		return nil
	}
	return provider.Errorf(provider.Refused, "the repository %s contradicts itself: %s", repo, problem)
}
