package sums

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/klauspost/compress/flate"
	"github.com/klauspost/compress/zip"
	"golang.org/x/mod/sumdb/dirhash"

	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

const (
	// MaxZipContents bounds what one archive may expand to, in bytes. The largest
	// provider known is under 1 GiB; a zip bomb reaches terabytes.
	MaxZipContents = 4 << 30
	// MaxZipEntries bounds the files in an archive. Providers have a handful; some
	// bundle a runtime of some thousands.
	MaxZipEntries = 100_000
	// maxDirectory bounds what is read to find the entries, which happens before
	// they can be counted: MaxZipEntries with long names.
	maxDirectory = 32 << 20
)

// H1Zip computes the "h1:…" hash of a zip archive, equal to that of
// [dirhash.HashZip]: entries that are directories count as empty files, and of
// two entries of one name the later counts twice. An archive of more than
// 100,000 entries or 4 GiB of contents is an error.
func H1Zip(ctx context.Context, r io.ReaderAt, size int64) (string, error) {
	z, err := openZip(ctx, r, size)
	if err != nil {
		return "", fmt.Errorf("reading zip directory: %w", damaged("", err))
	}
	names := make([]string, len(z.File))
	byName := make(map[string]*zip.File, len(z.File))
	for i, f := range z.File {
		names[i] = f.Name
		byName[f.Name] = f
	}
	// The zip reader refuses an entry that is longer than it declares, so the
	// declarations bound what will be read.
	left := uint64(MaxZipContents)
	for _, name := range names {
		declared := byName[name].UncompressedSize64
		if declared > left {
			return "", fmt.Errorf("hashing zip contents: more than %d bytes", uint64(MaxZipContents))
		}
		left -= declared
	}
	h1, err := dirhash.Hash1(names, func(name string) (io.ReadCloser, error) {
		return openEntry(ctx, byName[name])
	})
	if err != nil {
		return "", fmt.Errorf("hashing zip contents: %w", err)
	}
	return h1, nil
}

// H1Dir computes the "h1:…" hash of the files below a directory. It equals that
// of the zip they came from only when the zip does not list directories.
func H1Dir(dir string) (string, error) {
	h1, err := dirhash.HashDir(dir, "", dirhash.Hash1)
	if err != nil {
		return "", fmt.Errorf("hashing %s: %w", dir, err)
	}
	return h1, nil
}

// openZip finds the entries and bounds what it reads for that.
func openZip(ctx context.Context, r io.ReaderAt, size int64) (*zip.Reader, error) {
	left, opening := maxDirectory, true
	z, err := zip.NewReader(readerAtFunc(func(p []byte, off int64) (int, error) {
		if err := ctx.Err(); err != nil {
			return 0, err
		}
		if opening {
			if left -= len(p); left < 0 {
				return 0, fmt.Errorf("more than %d bytes", maxDirectory)
			}
		}
		return r.ReadAt(p, off)
	}), size)
	opening = false
	if err != nil {
		return nil, err
	}
	if len(z.File) > MaxZipEntries {
		return nil, fmt.Errorf("more than %d entries", MaxZipEntries)
	}
	return z, nil
}

// openEntry opens a file of an archive so that its errors name it.
func openEntry(ctx context.Context, f *zip.File) (io.ReadCloser, error) {
	rc, err := f.Open()
	if err != nil {
		return nil, damaged(f.Name, err)
	}
	read := readerFunc(func(p []byte) (int, error) {
		// A small piece of the archive may expand to gigabytes.
		if err := ctx.Err(); err != nil {
			return 0, err
		}
		n, err := rc.Read(p)
		if err != nil && err != io.EOF {
			err = damaged(f.Name, err)
		}
		return n, err
	})
	return struct {
		io.Reader
		io.Closer
	}{read, rc}, nil
}

// ZipError says that an archive is damaged. Its bytes are there, so reading them
// again gives the same: it wraps no error of a connection.
type ZipError struct {
	// Name is the entry's name, empty when the archive as a whole is meant.
	Name string
	// Problem is what the reader of zips says.
	Problem string
}

func (e *ZipError) Error() string {
	if e.Name == "" {
		return "the zip archive is damaged: " + e.Problem
	}
	return fmt.Sprintf("the zip archive's entry %q is damaged: %s", e.Name, e.Problem)
}

// Kind is [provider.Unverified].
func (e *ZipError) Kind() provider.ErrorKind { return provider.Unverified }

// damaged makes a *[ZipError] of what can only come from the archive itself. Other
// errors are those of the file or of a context.
func damaged(name string, err error) error {
	_, corrupt := errors.AsType[flate.CorruptInputError](err)
	if corrupt || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) || errors.Is(err, zip.ErrFormat) ||
		errors.Is(err, zip.ErrChecksum) || errors.Is(err, zip.ErrAlgorithm) {
		return &ZipError{Name: name, Problem: err.Error()}
	}
	if name == "" {
		return err
	}
	return fmt.Errorf("%s: %w", name, err)
}

type readerFunc func(p []byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

type readerAtFunc func(p []byte, off int64) (int, error)

func (f readerAtFunc) ReadAt(p []byte, off int64) (int, error) { return f(p, off) }
