package packagezip

import (
	"context"
	"errors"
	"io"

	"github.com/tofu-oci/tofu-oci/internal/scratch"
)

// Opener gives an archive from its start, each time anew.
type Opener func(ctx context.Context) (io.ReadCloser, error)

// HashAny hashes an archive of so many bytes, -1 when that is not known, as it
// comes; one that can't be read so is kept in a temporary file in dir, and read
// again. Errors are those of open, of [HashStream] and of [Open].
func HashAny(ctx context.Context, open Opener, size int64, dir string) (Contents, error) {
	body, err := open(ctx)
	if err != nil {
		return Contents{}, err
	}
	contents, err := HashStream(ctx, body)
	_ = body.Close()
	if _, again := errors.AsType[*NotStreamableError](err); !again {
		return contents, err
	}
	file, err := scratch.NewFile(dir, size)
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
	return archive.Contents(ctx)
}
