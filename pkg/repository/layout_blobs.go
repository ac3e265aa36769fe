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
type layoutBlobs struct {
	path   string
	record *atomicfile.Record

	mu sync.Mutex
	// read are files that were found right before there was a record.
	read map[digest.Digest]fs.FileInfo
}

func newLayoutBlobs(dir string) *layoutBlobs {
	path := filepath.Join(dir, recordName)
	return &layoutBlobs{path: path, record: atomicfile.NewRecord(path), read: map[digest.Digest]fs.FileInfo{}}
}

// check reads a blob's file, unless it is known to be right. Errors are those of
// reading, and [ErrNotFound] with a *[sums.MismatchError].
func (b *layoutBlobs) check(ctx context.Context, d digest.Digest, path string, info fs.FileInfo) error {
	if b.record.Has(d, info) || b.wasRead(d, info) {
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
	b.note(d, info)
	return nil
}

// written notes a blob that was stored.
func (b *layoutBlobs) written(d digest.Digest, path string) {
	info, err := os.Stat(path)
	if err != nil {
		return
	}
	_ = b.record.Add(d, info) // without it the file is read again
	b.mu.Lock()
	defer b.mu.Unlock()
	for d, info := range b.read {
		_ = b.record.Add(d, info)
		delete(b.read, d)
	}
}

// note keeps that a file is right: in the record if there is one, else until
// something is written.
func (b *layoutBlobs) note(d digest.Digest, info fs.FileInfo) {
	if _, err := os.Lstat(b.path); err == nil {
		_ = b.record.Add(d, info)
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.read[d] = info
}

func (b *layoutBlobs) wasRead(d digest.Digest, info fs.FileInfo) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	was, known := b.read[d]
	return known && os.SameFile(was, info) && was.Size() == info.Size() && was.ModTime().Equal(info.ModTime())
}
