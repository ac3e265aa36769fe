package verify

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/tofu-oci/tofu-oci/internal/atomicfile"
	"github.com/tofu-oci/tofu-oci/internal/packagezip"
	"github.com/tofu-oci/tofu-oci/internal/schedule"
	"github.com/tofu-oci/tofu-oci/pkg/artifact"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
)

// hashing is a repository whose zips are hashed while somebody else reads them, so
// that each is read once.
type hashing struct {
	repository.Reader
	// zips limits how many are read at once, of all releases.
	zips *schedule.Limiter

	mu     sync.Mutex
	hashes map[digest.Digest]hashed
}

// hashed is what a zip was found to hold.
type hashed struct {
	contents packagezip.Contents
	err      error
}

// of gives the hashes of a zip that was read to its end. One that can't be hashed as
// it passes is read again, in any order.
func (h *hashing) of(ctx context.Context, zip ocispec.Descriptor) (found hashed, read bool, err error) {
	h.mu.Lock()
	found, read = h.hashes[zip.Digest]
	h.mu.Unlock()
	if _, again := errors.AsType[*packagezip.NotStreamableError](found.err); again {
		found, err = h.readAgain(ctx, zip)
	}
	return found, read, err
}

func (h *hashing) readAgain(ctx context.Context, zip ocispec.Descriptor) (hashed, error) {
	file, err := h.file(ctx, zip)
	if err != nil {
		return hashed{}, fmt.Errorf("reading the zip %s again: %w", zip.Digest, err)
	}
	defer func() { _ = file.Close() }()
	var found hashed
	archive, err := packagezip.Open(file, zip.Size)
	if err == nil {
		found.contents, err = archive.Contents(ctx)
	}
	found.err = err
	return found, ctx.Err()
}

// archiveFile is a zip that is read in any order.
type archiveFile interface {
	io.ReaderAt
	io.Closer
}

// file gives a zip as a file: the layout's own, or else a temporary one.
func (h *hashing) file(ctx context.Context, zip ocispec.Descriptor) (archiveFile, error) {
	if at := h.Traits().BlobPath; at != nil {
		path, err := at(zip.Digest)
		if err != nil {
			return nil, err
		}
		return os.Open(path)
	}
	release, err := h.zips.Acquire(ctx, "")
	if err != nil {
		return nil, err
	}
	defer release()
	body, err := repository.Verified(ctx, h.Reader, zip, "zip "+zip.Digest.String())
	if err != nil {
		return nil, err
	}
	defer func() { _ = body.Close() }()
	file, err := atomicfile.NewScratchFile("", zip.Size)
	if err != nil {
		return nil, err
	}
	if _, err := io.Copy(file, body); err != nil {
		_ = file.Close()
		return nil, err
	}
	return file, nil
}

func (h *hashing) keep(d digest.Digest, found hashed) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.hashes == nil {
		h.hashes = map[digest.Digest]hashed{}
	}
	found.contents.Files = nil // which may be many
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
