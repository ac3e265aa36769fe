package atomicfile

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
)

// piece is how much is copied between two looks at the context, in bytes.
const piece = 32 << 20

// CloneIn creates the file name in root, which must not exist, with the mode less the
// umask and the content of src from its start. If the file system can, the copy shares
// the original's blocks until one of the two is written to (a reflink: Btrfs, XFS, APFS);
// otherwise the bytes are copied. It is never a hard link. The copy is open for reading
// and writing and not flushed yet. After an error there is no file.
func CloneIn(ctx context.Context, root *os.Root, name string, mode fs.FileMode, src *os.File) (*os.File, error) {
	dst, err := root.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return nil, err
	}
	shared, err := reflink(root, name, dst, src)
	if err == nil {
		return shared, nil
	}
	// Whatever the reason was, a copy may do.
	if err := copyAll(ctx, dst, src); err != nil {
		_ = dst.Close()
		_ = root.Remove(name)
		return nil, err
	}
	return dst, nil
}

// copyAll lets the kernel copy where it can: [os.File.ReadFrom] knows how.
func copyAll(ctx context.Context, dst, src *os.File) error {
	if _, err := src.Seek(0, io.SeekStart); err != nil {
		return err
	}
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		_, err := io.CopyN(dst, src, piece)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}
