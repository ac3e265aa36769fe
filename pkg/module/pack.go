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
	"github.com/tofu-oci/tofu-oci/internal/git"
)

// maxBuffered is the maximum size in bytes of files that are read only once.
const maxBuffered = 8 << 20

// maxBuffer is the maximum size in bytes of the buffer for reading files.
const maxBuffer = 256 << 10

// dosEpoch is 1980-01-01, the earliest date that the date format of zips supports. All
// files have this date, so identical files result in identical zips.
const dosEpoch = 1<<5 | 1

// File is a file in a module package. Path is relative to the root of the package, with
// slashes. Executable reports whether the file has the mode 0755 instead of 0644. Size
// is the size in bytes. Open opens the content, and is called twice for large files.
type File = git.File

// Pack writes a zip with the files, sorted by path. Identical files result in identical
// bytes on all systems. The zip contains no timestamps. The files are not compressed,
// because the output of compressors changes between versions. Pack returns an error if
// the content of a file doesn't have the specified size.
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
	// 1. Compute the checksum, which precedes the content.
	var content bytes.Buffer
	keep := io.Discard
	if f.Size <= maxBuffered {
		content.Grow(int(f.Size))
		keep = &content
	}
	sum, err := copyFile(ctx, keep, f)
	if err != nil {
		return err
	}
	// 2. Write the header and the content.
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

// errChanged is returned if a file changes while it is being packed.
var errChanged = errors.New("file changed while being read")

// copyFile copies the content of a file and returns its CRC-32.
func copyFile(ctx context.Context, w io.Writer, f File) (sum uint32, err error) {
	content, err := f.Open(ctx)
	if err != nil {
		return 0, err
	}
	defer func() { _ = content.Close() }()
	hash := crc32.NewIEEE()
	buffer := make([]byte, min(f.Size+1, maxBuffer))
	n, err := io.CopyBuffer(io.MultiWriter(w, hash), io.LimitReader(bounded.Reader(ctx, content), f.Size+1), buffer)
	if err == nil && n != f.Size {
		err = errChanged
	}
	return hash.Sum32(), err
}

func isASCII(s string) bool {
	return !slices.ContainsFunc([]byte(s), func(c byte) bool { return c >= 0x80 })
}
