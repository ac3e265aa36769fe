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
const plenty = 8

// Keep hands content on while it is read, and keeps it in the same pass: as the zip
// of a digest, when all of its size bytes were read, or with a size of -1 its end.
// The content must be verified, see [provider.Source]. That keeping fails is told to
// [Options] Failed, and does nothing to the reading. Closing the reader waits for
// the disk.
//
// [provider.Source]: https://pkg.go.dev/github.com/tofu-oci/tofu-oci/pkg/provider#Source
func (s *Store) Keep(d digest.Digest, size int64, content io.ReadCloser) io.ReadCloser {
	if !s.keeps() {
		return content
	}
	path, ok := s.place(nameBlobs, d)
	if !ok {
		return content
	}
	err := s.begin()
	if err == nil {
		err = s.space(size, plenty)
	}
	var f file
	if err == nil {
		f, err = s.create(path)
	}
	if err != nil {
		s.fail(err)
		return content
	}
	return &keeper{ReadCloser: content, store: s, digest: d, left: size, file: f}
}

// keeper is content that is kept while it is read.
type keeper struct {
	io.ReadCloser
	store  *Store
	digest digest.Digest
	// left is how much is to come, below zero where that is not known.
	left int64
	// file is nil when nothing is to be written to it any more.
	file file
	// kept is closed when the file has its name, nil before it is to get it.
	kept chan struct{}
}

// Read writes first and gives out then, so that of two that fill a disk the store
// is the first to fail.
func (k *keeper) Read(p []byte) (int, error) {
	n, err := k.ReadCloser.Read(p)
	if k.file == nil {
		return n, err
	}
	if n > 0 {
		if _, failure := k.file.Write(p[:n]); failure != nil {
			k.giveUp(failure)
			return n, err
		}
	}
	if k.left >= 0 {
		k.left -= int64(n)
	}
	switch {
	case err == nil && k.left == 0, errors.Is(err, io.EOF) && k.left <= 0:
		k.finish()
	case err != nil:
		k.giveUp(nil)
	}
	return n, err
}

// finish names the file, while who reads goes on with what it read.
func (k *keeper) finish() {
	f := k.file
	k.file, k.kept = nil, make(chan struct{})
	go func() {
		defer close(k.kept)
		if err := f.Commit(); err != nil {
			k.store.fail(err)
			return
		}
		k.store.recordBlob(k.digest)
	}()
}

// giveUp removes what there is, for a failure of the store or, with nil, of the
// content.
func (k *keeper) giveUp(why error) {
	k.file.Discard()
	k.file = nil
	if why != nil {
		k.store.fail(why)
	}
}

// Close ends keeping and reading.
func (k *keeper) Close() error {
	if k.file != nil {
		k.giveUp(nil)
	}
	if k.kept != nil {
		<-k.kept
	}
	return k.ReadCloser.Close()
}

// recordBlob notes what a zip looks like that just got its name. Without a record
// it is hashed when it is used.
func (s *Store) recordBlob(d digest.Digest) {
	path, _ := s.place(nameBlobs, d)
	record, _ := s.place(nameRecords, d)
	info, err := os.Lstat(path)
	if err == nil && info.Mode().IsRegular() {
		_ = s.write(record, []byte(atomicfile.StampOf(info).String()))
	}
}
