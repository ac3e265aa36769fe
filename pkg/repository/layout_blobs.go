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

// recordName is the file of a layout that remembers which blobs are right.
const recordName = ".tofu-oci.blobs"

// layoutBlobs knows which blob files of a layout have the right bytes. What this
// program writes it notes; what it did not write it reads once. The record is
// begun by writing: reading creates nothing.
type blobVerifier struct {
	path   string
	record *atomicfile.Record

	mu sync.Mutex
	// read are files that were found right before there was a record.
	verified map[digest.Digest]fs.FileInfo
}

func newBlobVerifier(dir string) *blobVerifier {
	path := filepath.Join(dir, recordName)
	return &blobVerifier{path: path, record: atomicfile.NewRecord(path), verified: map[digest.Digest]fs.FileInfo{}}
}

// check reads a blob's file, unless it is known to be right. Errors are those of
// reading, and [ErrNotFound] with a *[sums.MismatchError].
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

// written notes a blob that was stored.
func (b *blobVerifier) stored(d digest.Digest, path string) {
	info, err := os.Stat(path)
	if err != nil {
		return
	}
	_ = b.record.Add(d, info) // without it the file is read again
	b.mu.Lock()
	defer b.mu.Unlock()
	for d, info := range b.verified {
		_ = b.record.Add(d, info)
		delete(b.verified, d)
	}
}

// note keeps that a file is right: in the record if there is one, else until
// something is written.
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
