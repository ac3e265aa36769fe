package module

import (
	"archive/zip"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"slices"

	"github.com/tofu-oci/tofu-oci/internal/bounded"
)

// maxBuffered is the maximum size in bytes of files that are read only once.
const maxBuffered = 8 << 20

// dosEpoch is 1980-01-01 in the date format of zips, the earliest date. All files have
// this date, so identical files result in identical zips.
const dosEpoch = 1<<5 | 1

// File is a file of a module package.
type File struct {
	// Path is relative to the root of the package, with slashes.
	Path string
	// Executable reports whether the file has the mode 0755 instead of 0644.
	Executable bool
	// Size is the size in bytes.
	Size int64
	// Open opens the content. Pack calls it twice for large files.
	Open func(ctx context.Context) (io.ReadCloser, error)
}

// Pack writes a zip with the files, sorted by path. Identical files result in identical
// bytes on all systems. The zip contains no times. The files are not compressed,
// because the output of compressors changes between versions. Pack returns an error if
// the size of a file doesn't match.
func Pack(ctx context.Context, files []File, w io.Writer) error {
	files = slices.SortedFunc(slices.Values(files), func(a, b File) int { return cmp.Compare(a.Path, b.Path) })
	archive := zip.NewWriter(w)
	for _, f := range files {
		if err := packFile(ctx, archive, f); err != nil {
			return fmt.Errorf("packing %s: %w", f.Path, err)
		}
	}
	return archive.Close()
}

func packFile(ctx context.Context, archive *zip.Writer, f File) error {
	// 1. The checksum, which precedes the content.
	var content bytes.Buffer
	keep := io.Discard
	if f.Size <= maxBuffered {
		keep = &content
	}
	sum, err := copyFile(ctx, keep, f)
	if err != nil {
		return err
	}
	// 2. The header and the content.
	size := uint64(f.Size) //nolint:gosec // copyFile has read this number of bytes
	header := &zip.FileHeader{
		Name: f.Path, Method: zip.Store, ReaderVersion: 20,
		ModifiedDate: dosEpoch, //nolint:staticcheck // Modified would add an extra field
		CRC32:        sum, CompressedSize64: size, UncompressedSize64: size,
	}
	header.SetMode(0o644)
	if f.Executable {
		header.SetMode(0o755)
	}
	if !isASCII(f.Path) {
		header.Flags |= 0x800 // the name is UTF-8
	}
	entry, err := archive.CreateRaw(header)
	if err != nil {
		return err
	}
	if f.Size <= maxBuffered {
		_, err = content.WriteTo(entry)
		return err
	}
	again, err := copyFile(ctx, entry, f)
	if err == nil && again != sum {
		err = errChanged
	}
	return err
}

// errChanged is returned if a file changes while it is packed.
var errChanged = errors.New("file changed while it was read")

// copyFile copies the content of a file and returns its CRC-32.
func copyFile(ctx context.Context, w io.Writer, f File) (sum uint32, err error) {
	content, err := f.Open(ctx)
	if err != nil {
		return 0, err
	}
	defer func() { _ = content.Close() }()
	hash := crc32.NewIEEE()
	n, err := io.Copy(io.MultiWriter(w, hash), io.LimitReader(bounded.Reader(ctx, content), f.Size+1))
	if err == nil && n != f.Size {
		err = errChanged
	}
	return hash.Sum32(), err
}

func isASCII(s string) bool {
	return !slices.ContainsFunc([]byte(s), func(c byte) bool { return c >= 0x80 })
}
