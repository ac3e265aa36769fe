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

// Seen remembers what releases of a run have seen of the repositories that they go
// to, so that many releases ask once, also at the same time: whose a repository is,
// that it was made, its tags, and small blobs that are there. What was missing is
// asked for again. The zero value is ready.
type Seen struct {
	owners memo.Memo[ownedBy, struct{}]
	made   memo.Memo[string, error]
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

// owner asks whose a repository is, unless it is known.
func (s *Seen) owner(ctx context.Context, key ownedBy, ask func(context.Context) error) error {
	_, err := s.owners.Get(ctx, key, func(ctx context.Context) (struct{}, error) {
		return struct{}{}, ask(schedule.Unweighed(ctx)) // others wait for the answer
	})
	return err
}

// create makes a repository once. A failure is remembered as well: a program that
// could not make it is not run for each release again.
func (s *Seen) create(ctx context.Context, repository string, create func(context.Context) error) error {
	failure, err := s.made.Get(ctx, repository, func(ctx context.Context) (error, error) {
		err := create(ctx)
		if ctx.Err() != nil {
			return nil, err
		}
		return err, nil
	})
	if err != nil {
		return err
	}
	return failure
}

// Tags returns all tags of a repository, sorted, as of the first request.
func (s *Seen) Tags(ctx context.Context, repo repository.Reader) ([]string, error) {
	return s.tags.Tags(ctx, repo)
}

// Reader returns repo with its tags listed at most once per run.
func (s *Seen) Reader(repo repository.Reader) repository.Reader { return s.tags.Reader(repo) }

// seeing is a repository of which something was seen.
type seeing struct {
	repository.Repository
	seen *Seen
}

// Tags lists all tags, sorted, as they were when they were asked for.
func (s seeing) Tags(ctx context.Context) ([]string, error) { return s.seen.Tags(ctx, s.Repository) }

// Stat gives the size of a blob that is there or was.
func (s seeing) Stat(ctx context.Context, d digest.Digest) (int64, error) {
	key := storedBlob{s.String(), d}
	size, err := s.seen.blobs.Get(ctx, key, func(ctx context.Context) (int64, error) { return s.Repository.Stat(ctx, d) })
	if size > maxShared {
		s.seen.blobs.Forget(key)
	}
	return size, err
}

// PushBlob stores a blob, which is looked at anew afterwards: it may have been there
// in another size.
func (s seeing) PushBlob(ctx context.Context, d ocispec.Descriptor, content io.Reader) error {
	defer s.seen.blobs.Forget(storedBlob{s.String(), d.Digest})
	return s.Repository.PushBlob(ctx, d, content)
}
