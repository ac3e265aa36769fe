package verify

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/tofu-oci/tofu-oci/internal/packagezip"
	"github.com/tofu-oci/tofu-oci/internal/schedule"
	"github.com/tofu-oci/tofu-oci/pkg/artifact"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
)

// hashing is a repository that hashes the contents of zips while they are read, so that
// each zip is read only once.
type hashing struct {
	repository.Reader
	// zips limits the number of zips that are read concurrently, across all releases.
	zips *schedule.Limiter

	mu     sync.Mutex
	hashes map[digest.Digest]hashed
}

// hashed contains the contents of a zip.
type hashed struct {
	packagezip.Contents
	err error
}

// of returns the hash of a zip that has been read completely. If the zip can't be
// hashed as a stream, of reads it again with random access.
func (h *hashing) of(ctx context.Context, zip ocispec.Descriptor) (found hashed, read bool, err error) {
	h.mu.Lock()
	found, read = h.hashes[zip.Digest]
	h.mu.Unlock()
	if _, again := errors.AsType[*packagezip.NotStreamableError](found.err); !again {
		return found, read, nil
	}
	release, err := h.zips.Acquire(ctx, "")
	if err != nil {
		return found, read, err
	}
	defer release()
	contents, err := packagezip.HashSpooled(ctx, func(ctx context.Context) (io.ReadCloser, error) {
		return repository.Verified(ctx, h.Reader, zip, "zip "+zip.Digest.String())
	}, zip.Size, "")
	if err != nil && !errors.Is(err, packagezip.ErrArchive) {
		return found, read, fmt.Errorf("reading the zip %s again: %w", zip.Digest, err)
	}
	return hashed{contents, err}, read, nil
}

func (h *hashing) keep(d digest.Digest, found hashed) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.hashes == nil {
		h.hashes = map[digest.Digest]hashed{}
	}
	h.hashes[d] = found
}

// Blob implements [repository.Reader].
func (h *hashing) Blob(ctx context.Context, d ocispec.Descriptor) (io.ReadCloser, error) {
	if d.MediaType != artifact.MediaTypeZip {
		return h.Reader.Blob(ctx, d)
	}
	release, err := h.zips.Acquire(ctx, "")
	if err != nil {
		return nil, err
	}
	body, err := h.Reader.Blob(ctx, d)
	if err != nil {
		release()
		return nil, err
	}
	return &hashedBody{ReadCloser: body, hash: packagezip.NewHashWriter(ctx), release: release, keep: func(found hashed) { h.keep(d.Digest, found) }}, nil
}

type hashedBody struct {
	io.ReadCloser
	hash    *packagezip.HashWriter
	release func()
	keep    func(hashed)
}

func (b *hashedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	_, _ = b.hash.Write(p[:n])
	if errors.Is(err, io.EOF) {
		contents, failed := b.hash.Contents()
		b.keep(hashed{contents, failed})
	}
	return n, err
}

func (b *hashedBody) Close() error {
	_ = b.hash.Close()
	b.release()
	return b.ReadCloser.Close()
}
