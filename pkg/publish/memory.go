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

// maxShared is the size, in bytes, of the largest blob that is remembered: releases
// have their config and keys in common, and no zips.
const maxShared = 64 << 10

// memory is what the releases of a [Publisher] have learned of repositories, so that many
// releases ask once, also at the same time: whose a repository is, its tags, and small
// blobs that are there. What was missing is asked for again.
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

// checkOwner is [repository.CheckOwner], asked once if the repository is the provider's.
func (m *memory) checkOwner(ctx context.Context, repo repository.Repository, a provider.Address, aliases provider.Aliases) error {
	_, err := m.owners.Get(ctx, ownedBy{repo.String(), a}, func(ctx context.Context) (struct{}, error) {
		return struct{}{}, repository.CheckOwner(schedule.WithoutReservation(ctx), repo, a, aliases...) // others wait for the answer
	})
	return err
}

// Tags returns all tags of a repository, sorted, as of the first request.
func (p *Publisher) Tags(ctx context.Context, repo repository.Reader) ([]string, error) {
	return p.memory.tags.Tags(ctx, repo)
}

// of is a repository with this memory.
func (m *memory) of(repo repository.Repository) repository.Repository { return remembered{repo, m} }

type remembered struct {
	repository.Repository
	memory *memory
}

func (r remembered) Tags(ctx context.Context) ([]string, error) {
	return r.memory.tags.Tags(ctx, r.Repository)
}

func (r remembered) Stat(ctx context.Context, d digest.Digest) (int64, error) {
	key := storedBlob{r.String(), d}
	size, err := r.memory.blobs.Get(ctx, key, func(ctx context.Context) (int64, error) { return r.Repository.Stat(ctx, d) })
	if size > maxShared {
		r.memory.blobs.Forget(key)
	}
	return size, err
}

// PushBlob stores a blob, which is looked at anew afterwards: it may have been there
// in another size.
func (r remembered) PushBlob(ctx context.Context, d ocispec.Descriptor, content io.Reader) error {
	defer r.memory.blobs.Forget(storedBlob{r.String(), d.Digest})
	return r.Repository.PushBlob(ctx, d, content)
}
