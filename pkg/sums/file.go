package sums

import (
	"bytes"
	"maps"
	"slices"

	"github.com/opencontainers/go-digest"
)

// File is a SHA256SUMS document. It maps file names to SHA-256 checksums. The zero
// value lists no files. To verify a signature, keep the bytes of the parsed document,
// because [File.Bytes] returns the list in a normalized format.
type File struct {
	sums map[string]digest.Digest
	// invalid contains the names whose lines are malformed or ambiguous. These names
	// are not in sums.
	invalid map[string]lineError
}

// New returns a document with the given file names and SHA-256 digests. Names must not
// contain white space, which separates the words of a line.
func New(entries map[string]digest.Digest) File {
	return File{sums: maps.Clone(entries)}
}

// Lookup returns the digest of a file. It returns false if the document does not list
// the file exactly once. For the reason, use [File.Find].
func (f File) Lookup(name string) (digest.Digest, bool) {
	d, found := f.sums[name]
	return d, found
}

// Find returns the digest of a file. It returns a *[FileError] if the document does not
// list the file, if a line for the file is malformed, or if two lines for the file have
// different checksums.
func (f File) Find(name string) (digest.Digest, error) {
	if d, found := f.sums[name]; found {
		return d, nil
	}
	if flaw, found := f.invalid[name]; found {
		return "", flaw.of(name)
	}
	missing := &FileError{Missing: name}
	// sha256sum marks binary files with "*". If find lists the files, their names start
	// with "./".
	for _, other := range []string{"*" + name, "./" + name, "*./" + name} {
		if _, found := f.sums[other]; found {
			missing.Listed = other
			break
		}
	}
	return "", missing
}

// Names returns the names of the files that have a checksum, sorted.
func (f File) Names() []string {
	return slices.Sorted(maps.Keys(f.sums))
}

// Bytes returns the document, which consists of one line "hex name" per file, sorted by
// name. It contains no blank lines, because OpenTofu 1.12 crashes on a blank line in a
// signed document.
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

// Check returns a *[MismatchError] if a digest differs from the digest that the
// document lists for a file. It also returns the errors of [File.Find].
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
