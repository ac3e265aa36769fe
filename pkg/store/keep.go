package store

import (
	"errors"
	"io"
	"os"

	"github.com/opencontainers/go-digest"

	"github.com/tofu-oci/tofu-oci/internal/atomicfile"
)

// plenty is how many times a zip's size has to be free for it to be kept: once for
// the zip, and twice for what it unpacks to, which is two to four times as large.
const spaceFactor = 8

// Keep hands content on while it is read, and keeps it in the same pass: as the zip
// of a digest, when all of its size bytes were read, or with a size of -1 its end.
// The content must be verified, see [provider.Source]. That keeping fails is told to
// [Options.OnFailed], and does nothing to the reading. Closing the reader waits for
// the disk.
//
// [provider.Source]: https://pkg.go.dev/github.com/tofu-oci/tofu-oci/pkg/provider#Source
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

// keeper is content that is kept while it is read.
type storingReader struct {
	io.ReadCloser
	store  *Store
	digest digest.Digest
	// left is how much is to come, below zero where that is not known.
	remaining int64
	// file is nil when nothing is to be written to it any more.
	file file
	// kept is closed when the file has its name, nil before it is to get it.
	committed chan struct{}
}

// Read writes first and gives out then, so that of two that fill a disk the store
// is the first to fail.
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

// finish names the file, while who reads goes on with what it read.
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

// giveUp removes what there is, for a failure of the store or, with nil, of the
// content.
func (k *storingReader) abort(why error) {
	k.file.Discard()
	k.file = nil
	if why != nil {
		k.store.fail(why)
	}
}

// Close ends keeping and reading.
func (k *storingReader) Close() error {
	if k.file != nil {
		k.abort(nil)
	}
	if k.committed != nil {
		<-k.committed
	}
	return k.ReadCloser.Close()
}

// recordBlob notes what a zip looks like that just got its name. Without a record
// it is hashed when it is used.
func (s *Store) recordBlob(d digest.Digest) {
	path, _ := s.entryPath(nameBlobs, d)
	record, _ := s.entryPath(nameRecords, d)
	info, err := os.Lstat(path)
	if err == nil && info.Mode().IsRegular() {
		_ = s.write(record, []byte(atomicfile.StampOf(info).String()))
	}
}
