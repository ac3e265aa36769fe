package repository

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync"

	"github.com/opencontainers/go-digest"

	"github.com/tofu-oci/tofu-oci/internal/atomicfile"
	"github.com/tofu-oci/tofu-oci/internal/bounded"
	"github.com/tofu-oci/tofu-oci/pkg/sums"
)

// recordName is the name of a layout's file that lists the verified blobs.
const recordName = ".tofu-oci.blobs"

// blobVerifier records which blob files in a layout have the correct content. It
// records the blobs that this program writes, and reads all other blobs once. Only
// writing creates the record file, because reading must not create files.
type blobVerifier struct {
	path   string
	record *atomicfile.Record

	mu sync.Mutex
	// verified contains files that were verified before the record file existed.
	verified map[digest.Digest]fs.FileInfo
}

func newBlobVerifier(dir string) *blobVerifier {
	path := filepath.Join(dir, recordName)
	return &blobVerifier{path: path, record: atomicfile.NewRecord(path), verified: map[digest.Digest]fs.FileInfo{}}
}

// check reads the file of a blob unless the file has already been verified. If the
// content is wrong, the error wraps [ErrNotFound] and a *[sums.MismatchError].
func (b *blobVerifier) check(ctx context.Context, d digest.Digest, path string, info fs.FileInfo) error {
	if b.record.Has(d, info) || b.wasVerified(d, info) {
		return nil
	}
	f, err := bounded.OpenFile(path)
	if err != nil {
		return notFound(err)
	}
	defer func() { _ = f.Close() }()
	_, err = io.Copy(io.Discard, sums.NewReader(bounded.Reader(ctx, f), "blob "+d.String(), -1, d))
	if _, damaged := errors.AsType[*sums.MismatchError](err); damaged {
		return fmt.Errorf("%w: %w", ErrNotFound, err)
	}
	if err != nil {
		return err
	}
	b.remember(d, info)
	return nil
}

// stored records a blob that was just stored.
func (b *blobVerifier) stored(d digest.Digest, path string) {
	info, err := os.Stat(path)
	if err != nil {
		return
	}
	_ = b.record.Add(d, info) // if recording fails, the file is read again
	b.mu.Lock()
	defer b.mu.Unlock()
	for d, info := range b.verified {
		_ = b.record.Add(d, info)
		delete(b.verified, d)
	}
}

// remember records that a file has the correct content. It uses the record file if it
// exists, and memory otherwise.
func (b *blobVerifier) remember(d digest.Digest, info fs.FileInfo) {
	if _, err := os.Lstat(b.path); err == nil {
		_ = b.record.Add(d, info)
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.verified[d] = info
}

func (b *blobVerifier) wasVerified(d digest.Digest, info fs.FileInfo) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	was, known := b.verified[d]
	return known && os.SameFile(was, info) && was.Size() == info.Size() && was.ModTime().Equal(info.ModTime())
}
