// Package packagezip holds the rules for a provider package's zip archive and
// unpacks it. The rules are those under which an archive unpacks to the same
// files on every system that a provider may run on or be mirrored from; they
// hold for all entries before the first byte is written.
package packagezip

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/klauspost/compress/zip"

	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/sums"
)

// Reader is an archive that keeps the rules.
type Reader struct {
	src   io.ReaderAt
	size  int64
	files []*zip.File
	// directories are the entries that list a directory.
	directories []*zip.File
}

// Open reads an archive's directory, from size bytes of src, and checks every
// entry in it. The error joins a *[provider.ArchiveError] for each problem, up to a number
// that a person reads.
func Open(src io.ReaderAt, size int64) (*Reader, error) {
	// A crafted directory makes the zip library read at negative offsets.
	src = io.NewSectionReader(src, 0, size)
	entries, err := readDirectory(src, size)
	if err != nil {
		return nil, fmt.Errorf("reading zip directory: %w", err)
	}
	if err := check(entries); err != nil {
		return nil, err
	}
	r := &Reader{src: src, size: size}
	for _, entry := range entries {
		if isDirectory(entry) {
			r.directories = append(r.directories, entry)
		} else {
			r.files = append(r.files, entry)
		}
	}
	return r, nil
}

// H1 computes the archive's "h1:…" hash, as lock files and origins state it.
func (r *Reader) H1(ctx context.Context) (string, error) {
	return sums.H1Zip(ctx, r.src, r.size)
}

// readDirectory lists the entries. Their number is unknown until the last is
// read: the archive's own count is only compared modulo 65536. The hook that
// sees each name as it is read is where too many of them can be stopped.
func readDirectory(src io.ReaderAt, size int64) ([]*zip.File, error) {
	count := 0
	z, err := zip.NewReaderWithOptions(src, size, zip.ReaderOptions{
		NameDecoder: func(*zip.FileHeader) error {
			if count++; count > sums.MaxZipEntries {
				return &provider.ArchiveError{Problem: fmt.Sprintf("has more than %d entries", sums.MaxZipEntries)}
			}
			return nil
		},
	})
	if errors.Is(err, zip.ErrInsecurePath) {
		// Only with GODEBUG=zipinsecurepath=0; our own rules say which and why.
		err = nil
	}
	if errors.Is(err, zip.ErrFormat) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) {
		return nil, &provider.ArchiveError{Problem: "cannot be read: " + err.Error()}
	}
	if err != nil {
		return nil, err
	}
	return z.File, nil
}
