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

// OpenFile opens what must be a regular file of a size that packages have, and gives
// that in bytes.
func OpenFile(ctx context.Context, path string) (*os.File, int64, error) {
	if err := ctx.Err(); err != nil {
		return nil, 0, err
	}
	// Looked at before, since opening a named pipe waits for its other end.
	info, err := os.Stat(path)
	if err != nil {
		return nil, 0, err
	}
	if !info.Mode().IsRegular() {
		return nil, 0, fmt.Errorf("%s is no file", path)
	}
	if info.Size() > artifact.MaxZipSize {
		return nil, 0, fmt.Errorf("%s has %d bytes, more than a package may have, which is %d", path, info.Size(), int64(artifact.MaxZipSize))
	}
	f, err := os.Open(filepath.Clean(path))
	return f, info.Size(), err
}

// Measured is what reading a zip once tells.
type Measured struct {
	Digest digest.Digest
	// Size is in bytes.
	Size int64
}

// MeasureFile reads a zip.
func MeasureFile(ctx context.Context, path string) (Measured, error) {
	f, size, err := OpenFile(ctx, path)
	if err != nil {
		return Measured{}, err
	}
	defer func() { _ = f.Close() }()
	d, err := digest.SHA256.FromReader(bounded.Reader(ctx, f))
	return Measured{d, size}, err
}
