package sums

import (
	"crypto/sha256"
	"fmt"
	"hash"
	"io"

	"github.com/opencontainers/go-digest"
)

// maxEmptyReads is the maximum number of consecutive reads that return neither bytes
// nor an error. The limit is the same as in package bufio.
const maxEmptyReads = 100

// verifyingReader passes content through and verifies it. If the digest or the size is
// wrong, the Read that would complete the content returns an error instead of the last
// bytes. Therefore, a consumer never receives complete but wrong content, even if the
// consumer counts bytes and doesn't wait for [io.EOF].
//
// The reader holds back the newest byte until the source has ended and the content is
// verified, because the size can be unknown.
type verifyingReader struct {
	src  io.Reader
	name string
	size int64
	want digest.Digest

	hash   hash.Hash
	read   int64
	held   [1]byte // the newest byte, if read > 0
	spare  [1]byte // buffer for reading if the caller's buffer has only one byte
	srcErr error   // error from the source, which is returned after the remaining bytes
	err    error   // error that every subsequent Read returns
}

// NewReader returns a reader that verifies the content of r against a SHA-256 digest
// and, unless size is -1, a size. name is used in errors. Read returns these errors:
//
//   - a *[MismatchError] if the digest differs;
//   - a *[SizeError] if the size is known and differs;
//   - an error from r, prefixed with the name;
//   - an error before anything is read if d is not a valid SHA-256 digest.
func NewReader(r io.Reader, name string, size int64, d digest.Digest) io.Reader {
	v := &verifyingReader{src: r, name: name, size: size, want: d, hash: sha256.New()}
	if err := d.Validate(); err != nil {
		v.err = fmt.Errorf("verifying %s: digest %q: %w", name, d, err)
	} else if d.Algorithm() != digest.SHA256 {
		v.err = fmt.Errorf("verifying %s: digest %q is not a sha256 digest", name, d)
	}
	return v
}

// Read implements [io.Reader].
func (v *verifyingReader) Read(p []byte) (int, error) {
	if v.err != nil {
		return 0, v.err
	}
	if len(p) == 0 {
		return 0, nil
	}
	for range maxEmptyReads {
		if v.srcErr != nil {
			return v.finish(p)
		}
		if n := v.advance(p); n > 0 || v.err != nil {
			return n, v.err
		}
	}
	v.err = fmt.Errorf("reading %s: %w", v.name, io.ErrNoProgress)
	return 0, v.err
}

// advance reads from the source, and returns all bytes except the newest byte. It reads
// directly into p, after the byte that was held back.
func (v *verifyingReader) advance(p []byte) int {
	k := 0
	if v.read > 0 {
		k = copy(p, v.held[:])
	}
	room := p[k:]
	if len(room) == 0 {
		room = v.spare[:]
	}
	n, err := v.src.Read(room)
	v.srcErr = err
	if n == 0 {
		return 0
	}
	v.hash.Write(room[:n])
	v.read += int64(n)
	if v.size >= 0 && v.read > v.size {
		// Return no bytes, and clear the buffer.
		clear(p)
		v.err = &SizeError{Name: v.name, Got: v.read, Want: v.size}
		return 0
	}
	v.held[0] = room[n-1]
	return k + n - 1
}

// finish verifies the content after the source has ended, and returns the byte that was
// held back.
func (v *verifyingReader) finish(p []byte) (int, error) {
	if v.srcErr != io.EOF {
		v.err = fmt.Errorf("reading %s: %w", v.name, v.srcErr)
		return 0, v.err
	}
	if v.read < v.size {
		v.err = &SizeError{Name: v.name, Got: v.read, Want: v.size}
		return 0, v.err
	}
	if got := digest.NewDigest(digest.SHA256, v.hash); got != v.want {
		v.err = &MismatchError{Name: v.name, Got: got.String(), Want: v.want.String()}
		return 0, v.err
	}
	v.err = io.EOF
	if v.read == 0 {
		return 0, io.EOF
	}
	return copy(p, v.held[:]), nil
}

// NewReadCloser is like [NewReader], but closing the reader closes the body.
func NewReadCloser(body io.ReadCloser, name string, size int64, d digest.Digest) io.ReadCloser {
	return struct {
		io.Reader
		io.Closer
	}{NewReader(body, name, size, d), body}
}
