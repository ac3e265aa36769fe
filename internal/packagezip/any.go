package packagezip

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"

	"github.com/tofu-oci/tofu-oci/internal/atomicfile"
	"github.com/tofu-oci/tofu-oci/internal/bounded"
)

// Opener opens an archive for reading from its start. It can be called several times.
type Opener func(ctx context.Context) (io.ReadCloser, error)

// HashAny hashes an archive of size bytes as a stream. If the size is unknown, size is
// -1. If the archive cannot be streamed, HashAny opens the archive again, copies it to
// a temporary file in spool, and hashes the file. HashAny returns the errors from open,
// [HashStream], and [Open].
func HashAny(ctx context.Context, open Opener, size int64, spool string, options ...HashOption) (Contents, error) {
	contents, err := streamed(ctx, open, func(body io.Reader) (Contents, error) { return HashStream(ctx, body, options...) })
	if _, again := errors.AsType[*NotStreamableError](err); !again {
		return contents, err
	}
	return HashSpooled(ctx, open, size, spool, options...)
}

// HashSpooled copies an archive to a temporary file in spool and hashes the file.
func HashSpooled(ctx context.Context, open Opener, size int64, spool string, options ...HashOption) (Contents, error) {
	return spooled(ctx, open, size, spool, func(archive *Reader) (Contents, error) { return archive.Contents(ctx, options...) })
}

// UnpackAny unpacks an archive to dir, an existing empty directory. UnpackAny reads the
// archive in the same way as [HashAny].
func UnpackAny(ctx context.Context, open Opener, size int64, dir, spool string) (Contents, error) {
	contents, err := streamed(ctx, open, func(body io.Reader) (Contents, error) { return UnpackStream(ctx, body, dir) })
	if _, again := errors.AsType[*NotStreamableError](err); !again {
		return contents, err
	}
	return spooled(ctx, open, size, spool, func(archive *Reader) (Contents, error) {
		if err := Empty(dir); err != nil {
			return Contents{}, err
		}
		return archive.Extract(ctx, dir)
	})
}

// streamed opens an archive, passes the stream to read, and closes the stream.
func streamed(ctx context.Context, open Opener, read func(io.Reader) (Contents, error)) (Contents, error) {
	body, err := open(ctx)
	if err != nil {
		return Contents{}, err
	}
	defer func() { _ = body.Close() }()
	return read(bounded.Reader(ctx, body))
}

// spooled copies an archive to a temporary file in dir and reads the file.
func spooled(ctx context.Context, open Opener, size int64, dir string, read func(*Reader) (Contents, error)) (Contents, error) {
	file, err := atomicfile.NewScratchFile(dir, size)
	if err != nil {
		return Contents{}, err
	}
	defer func() { _ = file.Close() }()
	body, err := open(ctx)
	if err != nil {
		return Contents{}, err
	}
	defer func() { _ = body.Close() }()
	if size, err = io.Copy(file, bounded.Reader(ctx, body)); err != nil {
		return Contents{}, err
	}
	archive, err := Open(file, size)
	if err != nil {
		return Contents{}, err
	}
	return read(archive)
}

// Empty removes the contents of a directory.
func Empty(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, entry := range entries {
		if err := os.RemoveAll(filepath.Join(dir, entry.Name())); err != nil {
			return err
		}
	}
	return nil
}
