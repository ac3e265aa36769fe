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
	// spoiled has the names that the document gives no single sum for. They are
	// not in sums.
	spoiled map[string]flaw
}

// New makes a document of file names and their sha256 digests. A name must be
// one word, without white space: a line of the document is split there.
func New(entries map[string]digest.Digest) File {
	return File{sums: maps.Clone(entries)}
}

// Lookup returns the digest of a file; false when the document does not list it,
// or not with one sum. [File.Find] says which.
func (f File) Lookup(name string) (digest.Digest, bool) {
	d, found := f.sums[name]
	return d, found
}

// Find returns the digest of a file. It returns a *[FileError] if the document does not list
// the file, if a line about the file is malformed, or if two of them differ.
func (f File) Find(name string) (digest.Digest, error) {
	if d, found := f.sums[name]; found {
		return d, nil
	}
	if flaw, found := f.spoiled[name]; found {
		return "", flaw.of(name)
	}
	missing := &FileError{Missing: name}
	// How sha256sum marks binary files, and how it writes the names that find
	// gives it.
	for _, other := range []string{"*" + name, "./" + name, "*./" + name} {
		if _, found := f.sums[other]; found {
			missing.Listed = other
			break
		}
	}
	return "", missing
}

// Names lists the files that have a sum, sorted, as the document spells them.
func (f File) Names() []string {
	return slices.Sorted(maps.Keys(f.sums))
}

// Bytes writes the document: sorted by name, one "hex  name" a line. There is
// never a blank line, at which OpenTofu 1.12 breaks down when the document is
// signed.
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
// error is a *[MismatchError] or one of [File.Find].
func (f File) Check(name string, d digest.Digest) error {
	want, err := f.Find(name)
	if err != nil {
		return err
	}
	if d != want {
		return &MismatchError{Name: name, Got: d.String(), Want: want.String()}
	}
	return nil
}

// Equal reports whether two documents list the same files with the same digests.
func (f File) Equal(g File) bool {
	return maps.Equal(f.sums, g.sums)
}
