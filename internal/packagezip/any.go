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

// Opener gives an archive from its start, each time anew.
type Opener func(ctx context.Context) (io.ReadCloser, error)

// HashAny hashes an archive of so many bytes, -1 when that is not known, as it
// comes; one that can't be read so is kept in a temporary file in spool, and read
// again. Errors are those of open, of [HashStream] and of [Open].
func HashAny(ctx context.Context, open Opener, size int64, spool string) (Contents, error) {
	contents, err := streamed(ctx, open, func(body io.Reader) (Contents, error) { return HashStream(ctx, body) })
	if _, again := errors.AsType[*NotStreamableError](err); !again {
		return contents, err
	}
	return HashSpooled(ctx, open, size, spool)
}

// HashSpooled hashes an archive that is kept in a temporary file in spool.
func HashSpooled(ctx context.Context, open Opener, size int64, spool string) (Contents, error) {
	return spooled(ctx, open, size, spool, func(archive *Reader) (Contents, error) { return archive.Contents(ctx) })
}

// UnpackAny unpacks an archive into dir, an existing empty directory, as [HashAny]
// hashes one.
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

// streamed reads an archive while it arrives.
func streamed(ctx context.Context, open Opener, read func(io.Reader) (Contents, error)) (Contents, error) {
	body, err := open(ctx)
	if err != nil {
		return Contents{}, err
	}
	defer func() { _ = body.Close() }()
	return read(bounded.Reader(ctx, body))
}

// spooled reads an archive out of a temporary file.
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

// Empty removes what is in a directory.
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
