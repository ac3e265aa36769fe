package store

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"syscall"

	"github.com/opencontainers/go-digest"

	"github.com/tofu-oci/tofu-oci/internal/atomicfile"
	"github.com/tofu-oci/tofu-oci/internal/bounded"
	"github.com/tofu-oci/tofu-oci/pkg/sums"
)

// Blob is a verified zip in the store. The caller must close it.
type Blob struct {
	store  *Store
	digest digest.Digest
	file   *os.File
	// opened is the file information from the time when the file was opened.
	opened fs.FileInfo
}

// Blob opens the zip with the given digest. ok is false if the store doesn't have the
// zip. If the file has changed since it was verified, Blob hashes it. If the zip is
// damaged, Blob removes it.
func (s *Store) Blob(ctx context.Context, d digest.Digest) (b *Blob, ok bool) {
	if s == nil {
		return nil, false
	}
	path, ok := s.entryPath(nameBlobs, d)
	if !ok {
		return nil, false
	}
	b = &Blob{store: s, digest: d}
	err := b.open(ctx, path)
	switch {
	case err == nil:
		return b, true
	case b.file != nil:
		_ = b.file.Close()
	}
	switch {
	case ctx.Err() != nil, errors.Is(err, fs.ErrNotExist):
	case errors.Is(err, fs.ErrPermission), errors.Is(err, syscall.ENOTDIR), isBusy(err): // the zip itself is not at fault
		s.fail(err)
	default:
		b.damaged(err)
	}
	return nil, false
}

func (b *Blob) open(ctx context.Context, path string) (err error) {
	info, err := os.Lstat(path)
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() {
		return errors.New("not a regular file")
	}
	if b.file, err = bounded.OpenFile(path); err != nil {
		return err
	}
	if b.opened, err = b.file.Stat(); err != nil {
		return err
	}
	record, _ := b.store.entryPath(nameRecords, b.digest)
	stamp := atomicfile.StampOf(b.opened)
	if b.store.options.Recheck || !recorded(record, stamp) {
		if err := b.hash(ctx); err != nil {
			return err
		}
		// If writing the record fails, the zip is hashed again the next time.
		_ = b.store.write(record, []byte(stamp.String()))
	}
	touch(record)
	return nil
}

// recorded reports whether a record contains a stamp.
func recorded(path string, s atomicfile.Stamp) bool {
	const maxRecord = 256 // bytes: four numbers
	text, err := bounded.ReadFile(path, maxRecord)
	return err == nil && string(text) == s.String()
}

// hash reads the entire file, which must not change while being read.
func (b *Blob) hash(ctx context.Context) error {
	content := sums.NewReader(bounded.Reader(ctx, b.file), b.file.Name(), -1, b.digest)
	if _, err := io.Copy(io.Discard, content); err != nil {
		return err
	}
	if _, err := b.file.Seek(0, io.SeekStart); err != nil {
		return err
	}
	return b.Unchanged()
}

// Unchanged returns an error if the file has changed since it was opened. Data that was
// copied from the file then can't be trusted, and Unchanged removes the zip from the
// store.
func (b *Blob) Unchanged() error {
	now, err := b.file.Stat()
	if err != nil || atomicfile.StampOf(now) == atomicfile.StampOf(b.opened) {
		return err
	}
	// If another process has deleted or replaced the file, the open file has a
	// different change time but the same content.
	path, _ := b.store.entryPath(nameBlobs, b.digest)
	there, err := os.Lstat(path)
	named := err == nil && os.SameFile(there, now)
	if !named && now.Size() == b.opened.Size() && now.ModTime().Equal(b.opened.ModTime()) {
		return nil
	}
	err = errors.New("file changed while being read")
	b.damaged(err)
	return err
}

// Size returns the size of the zip in bytes.
func (b *Blob) Size() int64 { return b.opened.Size() }

// File returns the zip's file so that it can be copied. The caller must not write to
// it.
func (b *Blob) File() *os.File { return b.file }

// Close closes the file. It can be called more than once.
func (b *Blob) Close() error { return ignore(b.file.Close(), fs.ErrClosed) }

// Verified returns a verifying reader for the zip, as [provider.Source] requires. The
// reader starts at the beginning even if part of the file has already been read. If the
// disk has silently corrupted the zip, the Read that would complete the content returns a
// *[sums.MismatchError], and the zip is removed from the store. Closing the reader closes
// the blob.
//
// [provider.Source]:
// https://pkg.go.dev/github.com/tofu-oci/tofu-oci/pkg/provider#Source
func (b *Blob) Verified(ctx context.Context, name string) io.ReadCloser {
	content := bounded.Reader(ctx, io.NewSectionReader(b.file, 0, b.Size()))
	return &verified{Reader: sums.NewReader(content, name, b.Size(), b.digest), blob: b}
}

type verified struct {
	io.Reader
	blob *Blob
}

func (v *verified) Read(p []byte) (int, error) {
	n, err := v.Reader.Read(p)
	if _, wrong := errors.AsType[*sums.MismatchError](err); wrong {
		v.blob.damaged(err)
	}
	return n, err
}

func (v *verified) Close() error { return v.blob.Close() }

// damaged removes the zip from the store. It closes the file first, because Windows
// doesn't remove open files.
func (b *Blob) damaged(why error) {
	if b.file != nil {
		_ = b.file.Close()
	}
	path, _ := b.store.entryPath(nameBlobs, b.digest)
	b.store.damaged(path, why, func() error { return b.store.removeBlob(b.digest) })
}

func (s *Store) removeBlob(d digest.Digest) error {
	path, _ := s.entryPath(nameBlobs, d)
	record, _ := s.entryPath(nameRecords, d)
	_ = os.Remove(record) // the record is useless without the zip
	if err := os.Remove(path); err != nil {
		return fmt.Errorf("removing the zip %s: %w", d, err)
	}
	return nil
}
