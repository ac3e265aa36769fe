package packagezip

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"

	"github.com/tofu-oci/tofu-oci/internal/scratch"
)

// UnpackAny unpacks an archive of so many bytes, -1 when that is not known, into dir,
// an existing empty directory, as it comes; one that can't be read so is kept in a
// temporary file in spool, and read again. Errors are those of open, of
// [UnpackStream] and of [Open].
func UnpackAny(ctx context.Context, open Opener, size int64, dir, spool string) (Contents, error) {
	body, err := open(ctx)
	if err != nil {
		return Contents{}, err
	}
	contents, err := UnpackStream(ctx, body, dir)
	_ = body.Close()
	if _, again := errors.AsType[*NotStreamableError](err); !again {
		return contents, err
	}
	if err := empty(dir); err != nil {
		return Contents{}, err
	}
	file, err := scratch.NewFile(spool, size)
	if err != nil {
		return Contents{}, err
	}
	defer func() { _ = file.Close() }()
	if body, err = open(ctx); err != nil {
		return Contents{}, err
	}
	defer func() { _ = body.Close() }()
	if size, err = io.Copy(file, body); err != nil {
		return Contents{}, err
	}
	archive, err := Open(file, size)
	if err != nil {
		return Contents{}, err
	}
	return archive.Extract(ctx, dir)
}

// empty removes what is in a directory.
func empty(dir string) error {
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
