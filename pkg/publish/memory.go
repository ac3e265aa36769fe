package publish

import (
	"context"
	"io"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/tofu-oci/tofu-oci/internal/memo"
	"github.com/tofu-oci/tofu-oci/internal/schedule"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
)

// maxShared is the maximum size of cached blobs in bytes. Releases share their config
// and keys, which are small, but not their zips.
const maxShared = 64 << 10

// memory caches facts about repositories for all releases of a [Publisher], so that
// concurrent releases share one request. It caches the owner of a repository, its tags,
// and small blobs that exist. Missing blobs are always requested again. Blobs in image
// layouts are also requested again, because another run can delete them.
type memory struct {
	owners memo.Memo[ownedBy, struct{}]
	tags   repository.Listings
	blobs  memo.Memo[storedBlob, int64]
}

type ownedBy struct {
	repository string
	provider   provider.Address
}

type storedBlob struct {
	repository string
	digest     digest.Digest
}

// checkOwner calls [repository.CheckOwner], and caches success for each repository and
// provider.
func (m *memory) checkOwner(ctx context.Context, repo repository.Repository, a provider.Address, aliases provider.Aliases) error {
	_, err := m.owners.Get(ctx, ownedBy{repo.String(), a}, func(ctx context.Context) (struct{}, error) {
		return struct{}{}, repository.CheckOwner(schedule.WithoutReservation(ctx), repo, a, aliases...) // other releases wait for the result
	})
	return err
}

// Reader returns a repository whose tags are sorted and are requested only once.
func (p *Publisher) Reader(repo repository.Reader) repository.Reader {
	return p.memory.tags.Reader(repo)
}

// of returns a repository that uses this cache.
func (m *memory) of(repo repository.Repository) repository.Repository { return remembered{repo, m} }

type remembered struct {
	repository.Repository
	memory *memory
}

func (r remembered) Tags(ctx context.Context) ([]string, error) {
	return r.memory.tags.Tags(ctx, r.Repository)
}

func (r remembered) Stat(ctx context.Context, d digest.Digest) (int64, error) {
	if r.Traits().BlobPath != nil {
		return r.Repository.Stat(ctx, d)
	}
	key := storedBlob{r.String(), d}
	size, err := r.memory.blobs.Get(ctx, key, func(ctx context.Context) (int64, error) { return r.Repository.Stat(ctx, d) })
	if size > maxShared {
		r.memory.blobs.Forget(key)
	}
	return size, err
}

// PushBlob pushes a blob. It removes the blob from the cache, because its size might
// have changed.
func (r remembered) PushBlob(ctx context.Context, d ocispec.Descriptor, content io.Reader) error {
	defer r.memory.blobs.Forget(storedBlob{r.String(), d.Digest})
	return r.Repository.PushBlob(ctx, d, content)
}
