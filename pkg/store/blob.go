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

// Blob is a stored zip that was found to be right. It has to be closed.
type Blob struct {
	store  *Store
	digest digest.Digest
	file   *os.File
	// opened is what the file looked like then.
	opened fs.FileInfo
}

// Blob opens the zip of a digest; ok is false where the store has none. One that
// looks as it did when it was right is trusted. Any other is hashed, and what is
// damaged is removed.
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
	case errors.Is(err, fs.ErrPermission), errors.Is(err, syscall.ENOTDIR), isBusy(err): // which says nothing about the zip
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
		return errors.New("it is no file")
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
		// Where it can't be written the zip is hashed again the next time.
		_ = b.store.write(record, []byte(stamp.String()))
	}
	touch(record)
	return nil
}

// recorded reports whether a record has a stamp.
func recorded(path string, s atomicfile.Stamp) bool {
	const maxRecord = 256 // bytes: four numbers
	text, err := bounded.ReadFile(path, maxRecord)
	return err == nil && string(text) == s.String()
}

// hash reads the whole file, which must not change meanwhile.
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

// Unchanged says whether the file still looks as it did when it was opened. What
// was copied from it meanwhile is right only then; else it is removed from the
// store.
func (b *Blob) Unchanged() error {
	now, err := b.file.Stat()
	if err != nil || atomicfile.StampOf(now) == atomicfile.StampOf(b.opened) {
		return err
	}
	// To lose its name, to another process that removed or replaced it, changes a
	// file too, but not its content.
	path, _ := b.store.entryPath(nameBlobs, b.digest)
	there, err := os.Lstat(path)
	named := err == nil && os.SameFile(there, now)
	if !named && now.Size() == b.opened.Size() && now.ModTime().Equal(b.opened.ModTime()) {
		return nil
	}
	err = errors.New("it changed while it was read")
	b.damaged(err)
	return err
}

// Size is the zip's, in bytes.
func (b *Blob) Size() int64 { return b.opened.Size() }

// File is the zip's file, which belongs to the store: it is for copying, and
// nothing of what it is trusted for holds when something is written to it.
func (b *Blob) File() *os.File { return b.file }

// Close closes the file. More calls do nothing.
func (b *Blob) Close() error { return ignore(b.file.Close(), fs.ErrClosed) }

// Verified reads the zip as a [provider.Source] gives it: the Read that would
// complete it returns a *[sums.MismatchError] instead, should the disk have
// changed it without a trace. The zip is removed from the store then. Closing the
// reader closes the zip.
//
// [provider.Source]: https://pkg.go.dev/github.com/tofu-oci/tofu-oci/pkg/provider#Source
func (b *Blob) Verified(ctx context.Context, name string) io.ReadCloser {
	return &verified{Reader: sums.NewReader(bounded.Reader(ctx, b.file), name, b.Size(), b.digest), blob: b}
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

// damaged closes the zip, since Windows removes no open file, and removes it from the
// store.
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
	_ = os.Remove(record) // without its zip it is of no use
	if err := os.Remove(path); err != nil {
		return fmt.Errorf("removing the zip %s: %w", d, err)
	}
	return nil
}
