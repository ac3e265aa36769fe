package packagezip

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/opencontainers/go-digest"

	"github.com/tofu-oci/tofu-oci/internal/bounded"
	"github.com/tofu-oci/tofu-oci/pkg/artifact"
)

// OpenFile opens a regular file and returns its size in bytes. It returns an error if
// the size exceeds the limit for packages.
func OpenFile(ctx context.Context, path string) (*os.File, int64, error) {
	if err := ctx.Err(); err != nil {
		return nil, 0, err
	}
	// Stat is called before Open, because opening a named pipe blocks.
	info, err := os.Stat(path)
	if err != nil {
		return nil, 0, err
	}
	if !info.Mode().IsRegular() {
		return nil, 0, fmt.Errorf("%s is not a regular file", path)
	}
	if info.Size() > artifact.MaxZipSize {
		return nil, 0, fmt.Errorf("%s is %d bytes long; a package must not exceed %d bytes", path, info.Size(), int64(artifact.MaxZipSize))
	}
	f, err := os.Open(filepath.Clean(path))
	return f, info.Size(), err
}

// Measured contains the digest and the size of a zip.
type Measured struct {
	Digest digest.Digest
	// Size is the size in bytes.
	Size int64
}

// MeasureFile computes the digest of a zip.
func MeasureFile(ctx context.Context, path string) (Measured, error) {
	f, size, err := OpenFile(ctx, path)
	if err != nil {
		return Measured{}, err
	}
	defer func() { _ = f.Close() }()
	d, err := digest.SHA256.FromReader(bounded.Reader(ctx, f))
	return Measured{d, size}, err
}
