package publish

import (
	"context"
	"io"
	"sync"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/tofu-oci/tofu-oci/internal/memo"
	"github.com/tofu-oci/tofu-oci/internal/schedule"
	"github.com/tofu-oci/tofu-oci/pkg/artifact"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
)

// maxShared is the maximum size of cached blobs in bytes. Releases share small config
// and key blobs, but not zips.
const maxShared = 64 << 10

// runCache caches facts about repositories for all releases of a [Publisher], so that
// concurrent releases share one request. It caches the provider of a repository, its
// tags, small blobs that exist, and blobs that were sent. Missing blobs are always
// requested again. Blobs in image layouts are also requested again, because another run
// can delete them.
type runCache struct {
	owners memo.Memo[ownedBy, struct{}]
	tags   repository.TagCache
	blobs  memo.Memo[storedBlob, int64]
	sent   memo.Memo[storedBlob, struct{}]
	// written contains the tags that this Publisher has written since it listed the
	// tags.
	written memo.Memo[storedTag, struct{}]
	// generic contains the registries that accept only generic manifests. See
	// [artifact.Generic].
	generic sync.Map
}

type ownedBy struct {
	repository string
	provider   provider.Address
}

type storedBlob struct {
	repository string
	digest     digest.Digest
}

type storedTag struct{ repository, tag string }

// checkOwner calls [repository.CheckOwner], and caches success for each repository and
// provider.
func (m *runCache) checkOwner(ctx context.Context, repo repository.Repository, a provider.Address, aliases provider.Aliases) error {
	_, err := m.owners.Get(ctx, ownedBy{repo.String(), a}, func(ctx context.Context) (struct{}, error) {
		return struct{}{}, repository.CheckOwner(schedule.WithoutReservation(ctx), repo, a, aliases...) // other releases wait for the result
	})
	return err
}

// Reader returns a repository whose tags are sorted and requested only once.
func (p *Publisher) Reader(repo repository.Reader) repository.Reader {
	return p.cache.tags.Reader(repo)
}

// Repository is like Reader, but returns a repository that can be written. Releases of
// this Publisher find the tags that are written to it.
func (p *Publisher) Repository(repo repository.Repository) repository.Repository {
	return p.cache.of(repo)
}

// once returns a function that sends each blob to a repository only once.
func (m *runCache) once(repo repository.Repository) repository.Once {
	if repo.Capabilities().BlobPath != nil {
		return nil
	}
	return func(ctx context.Context, blob digest.Digest, send func(context.Context) error) error {
		_, err := m.sent.Get(ctx, storedBlob{repo.String(), blob}, func(ctx context.Context) (struct{}, error) {
			return struct{}{}, send(ctx)
		})
		return err
	}
}

// forgetSent removes the blobs that were sent to a repository from the cache. It is
// called after a failure, because the registry might have lost a blob.
func (m *runCache) forgetSent(repo repository.Repository) {
	for _, key := range m.sent.Keys() {
		if key.repository == repo.String() {
			m.sent.Forget(key)
		}
	}
}

// of returns a repository that uses this cache.
func (m *runCache) of(repo repository.Repository) repository.Repository {
	return cachedRepository{repo, m}
}

type cachedRepository struct {
	repository.Repository
	cache *runCache
}

func (r cachedRepository) Tags(ctx context.Context) ([]string, error) {
	return r.cache.tags.Tags(ctx, r.Repository)
}

func (r cachedRepository) Stat(ctx context.Context, d ocispec.Descriptor) (int64, error) {
	if r.Capabilities().BlobPath != nil {
		return r.Repository.Stat(ctx, d)
	}
	key := storedBlob{r.String(), d.Digest}
	size, err := r.cache.blobs.Get(ctx, key, func(ctx context.Context) (int64, error) { return r.Repository.Stat(ctx, d) })
	if size > maxShared {
		r.cache.blobs.Forget(key)
	}
	return size, err
}

// PushBlob pushes a blob. It removes the blob from the cache, because the cached size
// might be wrong.
func (r cachedRepository) PushBlob(ctx context.Context, d ocispec.Descriptor, content io.Reader) error {
	defer r.cache.blobs.Forget(storedBlob{r.String(), d.Digest})
	return r.Repository.PushBlob(ctx, d, content)
}

// PushTag writes a tag and caches that it exists.
func (r cachedRepository) PushTag(ctx context.Context, m artifact.Blob, tag string, was digest.Digest) error {
	err := r.Repository.PushTag(ctx, m, tag, was)
	if err == nil {
		r.cache.written.Put(storedTag{r.String(), tag}, struct{}{})
	}
	return err
}
