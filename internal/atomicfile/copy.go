package atomicfile

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
)

// piece is the number of bytes that are copied between two checks of the context.
const piece = 32 << 20

// CopyIn creates the file name in root with the complete content of src. The file must
// not exist. The umask applies to mode. The returned file is open for reading and writing,
// and is not yet synced. If CopyIn fails, it removes the file.
func CopyIn(ctx context.Context, root *os.Root, name string, mode fs.FileMode, src *os.File) (*os.File, error) {
	dst, err := root.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return nil, err
	}
	if err := copyAll(ctx, dst, src); err != nil {
		_ = dst.Close()
		_ = root.Remove(name)
		return nil, err
	}
	return dst, nil
}

// copyAll uses [os.File.ReadFrom], which lets the kernel copy the content. On Btrfs and XFS,
// Linux shares the blocks instead.
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
