package store

import (
	"errors"
	"io"
	"os"

	"github.com/opencontainers/go-digest"

	"github.com/tofu-oci/tofu-oci/internal/atomicfile"
)

// spaceFactor is multiplied by a zip's size to calculate the free space that is
// required to store the zip. The unpacked package is two to four times as large as the
// zip, and can be stored twice.
const spaceFactor = 8

// Keep returns a reader of content that also stores the content as the zip with the
// given digest. The zip is stored after size bytes have been read or, if size is -1, at
// the end of content. content must return verified data. See [provider.Source]. If
// storing fails, Keep calls [Options.OnFailed], and reading continues. Closing the
// reader waits until the zip is on disk.
//
// [provider.Source]:
// https://pkg.go.dev/github.com/tofu-oci/tofu-oci/pkg/provider#Source
func (s *Store) Keep(d digest.Digest, size int64, content io.ReadCloser) io.ReadCloser {
	if !s.isWritable() {
		return content
	}
	path, ok := s.entryPath(nameBlobs, d)
	if !ok {
		return content
	}
	err := s.initialize()
	if err == nil {
		err = s.checkSpace(size, spaceFactor)
	}
	var f file
	if err == nil {
		f, err = s.create(path)
	}
	if err != nil {
		s.fail(err)
		return content
	}
	return &storingReader{ReadCloser: content, store: s, digest: d, remaining: size, file: f}
}

// storingReader stores content while it is read.
type storingReader struct {
	io.ReadCloser
	store  *Store
	digest digest.Digest
	// remaining is the number of expected bytes that have not been read. It is negative
	// if the number is unknown.
	remaining int64
	// file is nil after the last byte has been written.
	file file
	// committed is closed when the file has been renamed to its final name. It is nil
	// until the commit starts.
	committed chan struct{}
}

// Read writes data to the file before returning it. If the store and the caller write
// to the same disk and fill it, the store fails first.
func (k *storingReader) Read(p []byte) (int, error) {
	n, err := k.ReadCloser.Read(p)
	if k.file == nil {
		return n, err
	}
	if n > 0 {
		if _, failure := k.file.Write(p[:n]); failure != nil {
			k.abort(failure)
			return n, err
		}
	}
	if k.remaining >= 0 {
		k.remaining -= int64(n)
	}
	switch {
	case err == nil && k.remaining == 0, errors.Is(err, io.EOF) && k.remaining <= 0:
		k.finish()
	case err != nil:
		k.abort(nil)
	}
	return n, err
}

// finish commits the file in the background, while the caller processes the data.
func (k *storingReader) finish() {
	f := k.file
	k.file, k.committed = nil, make(chan struct{})
	go func() {
		defer close(k.committed)
		if err := f.Commit(); err != nil {
			k.store.fail(err)
			return
		}
		k.store.recordBlob(k.digest)
	}()
}

// abort discards the file. why is the failure of the store, or nil if reading content
// failed.
func (k *storingReader) abort(why error) {
	k.file.Discard()
	k.file = nil
	if why != nil {
		k.store.fail(why)
	}
}

// Close stops storing and closes the content.
func (k *storingReader) Close() error {
	if k.file != nil {
		k.abort(nil)
	}
	if k.committed != nil {
		<-k.committed
	}
	return k.ReadCloser.Close()
}

// recordBlob writes the record of a zip that has just been stored. A zip without a
// record is hashed when it is used.
func (s *Store) recordBlob(d digest.Digest) {
	path, _ := s.entryPath(nameBlobs, d)
	record, _ := s.entryPath(nameRecords, d)
	info, err := os.Lstat(path)
	if err == nil && info.Mode().IsRegular() {
		_ = s.write(record, []byte(atomicfile.StampOf(info).String()))
	}
}
