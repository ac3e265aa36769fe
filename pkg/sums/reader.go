package sums

import (
	"crypto/sha256"
	"fmt"
	"hash"
	"io"

	"github.com/opencontainers/go-digest"
)

// maxEmptyReads is how often in a row a source may give nothing and no error.
// The standard library's readers give up after as many.
const maxEmptyReads = 100

// verifyingReader passes content through and verifies it on the way. The Read that
// would complete the content returns an error instead of its last bytes when
// digest or length are wrong, so that nothing wrong is ever complete at the
// other end, even where that end counts bytes and does not wait for [io.EOF].
//
// To know the last byte for the last one, whether the size is known or not,
// it is always one byte behind its source, and gives that byte out when
// the source has ended and everything was right.
type verifyingReader struct {
	src  io.Reader
	name string
	size int64
	want digest.Digest

	hash   hash.Hash
	read   int64
	held   [1]byte // the newest byte, once read > 0
	spare  [1]byte // room to read on when the caller has room for held alone
	srcErr error   // came with the newest bytes and counts after them
	err    error   // what every further Read returns
}

// NewReader verifies that r gives the content of a sha256 digest, and of a size
// unless that is -1. The name is for errors. Read's errors are:
//
//   - *[MismatchError]: the digest is another one;
//   - *[SizeError]: too long, or too short and then [io.ErrUnexpectedEOF] too;
//     without a size, content that ends early has another digest;
//   - any error of r, with the name in front;
//   - at once, that the digest is not a sha256 digest.
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

// advance reads on and gives out all that has come except for the newest byte.
// What it reads lands in p directly, behind the byte that was held.
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
		// The caller gets no byte, and none to find in the buffer either.
		clear(p)
		v.err = &SizeError{Name: v.name, Got: v.read, Want: v.size}
		return 0
	}
	v.held[0] = room[n-1]
	return k + n - 1
}

// finish judges the content when the source has ended, and gives out the byte
// that was held.
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

// NewReadCloser is [NewReader] over a body that is closed with it.
func NewReadCloser(body io.ReadCloser, name string, size int64, d digest.Digest) io.ReadCloser {
	return struct {
		io.Reader
		io.Closer
	}{NewReader(body, name, size, d), body}
}
