package sums

import (
	"bytes"
	"maps"
	"slices"

	"github.com/opencontainers/go-digest"
)

// File is a SHA256SUMS document: file names and their SHA-256. Signatures cover
// the bytes it was parsed from, so keep those where they matter; [File.Bytes]
// is our own writing of the same list. The zero value lists nothing.
type File struct {
	sums map[string]digest.Digest
}

// New makes a document of file names and their sha256 digests. The names must
// be single path elements without white space around them, as [Parse] demands.
func New(entries map[string]digest.Digest) File {
	return File{sums: maps.Clone(entries)}
}

// Lookup gives the digest of a file; false when the document does not list it.
func (f File) Lookup(name string) (digest.Digest, bool) {
	d, found := f.sums[name]
	return d, found
}

// Names lists the files, sorted.
func (f File) Names() []string {
	return slices.Sorted(maps.Keys(f.sums))
}

// Bytes writes the document: sorted by name, one "hex  name" a line.
func (f File) Bytes() []byte {
	var b bytes.Buffer
	for _, name := range f.Names() {
		b.WriteString(f.sums[name].Encoded())
		b.WriteString("  ")
		b.WriteString(name)
		b.WriteByte('\n')
	}
	return b.Bytes()
}

// Check compares a digest with the one that the document lists for a file. The
// error is a *[MissingError] or a *[MismatchError].
func (f File) Check(name string, d digest.Digest) error {
	want, found := f.sums[name]
	if !found {
		return &MissingError{Name: name}
	}
	if d != want {
		return &MismatchError{Name: name, Got: d.String(), Want: want.String()}
	}
	return nil
}

// Equal tells whether two documents list the same files with the same digests.
func (f File) Equal(g File) bool {
	return maps.Equal(f.sums, g.sums)
}
