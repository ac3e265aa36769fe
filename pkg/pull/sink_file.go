package pull

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"github.com/opencontainers/go-digest"

	"github.com/tofu-oci/tofu-oci/internal/atomicfile"
	"github.com/tofu-oci/tofu-oci/internal/bounded"
	"github.com/tofu-oci/tofu-oci/internal/transfer"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/store"
)

// modeZip is the file mode of zips before the umask is applied.
const modeZip = 0o644

// newZipSink returns a sink that stores zips as
// DIR/terraform-provider-TYPE_VERSION_OS_ARCH.zip, regardless of their names in the
// source.
func newZipSink(dir string, kept *store.Store) fileSink {
	return newFileSink(kept, func(p provider.Package) (string, error) {
		name := provider.Filename(p.Address, p.Version, p.Platform)
		if err := provider.CheckFilename(name); err != nil {
			return "", err
		}
		return filepath.Join(dir, name), nil
	})
}

// newPackedSink returns a sink that stores zips as
// DIR/HOST/NAMESPACE/TYPE/terraform-provider-TYPE_VERSION_OS_ARCH.zip. OpenTofu's
// filesystem_mirror reads the version and the platform from these names.
func newPackedSink(dir string, kept *store.Store) fileSink {
	return newFileSink(kept, func(p provider.Package) (string, error) {
		return mirrorPath(dir, p.Address, provider.Filename(p.Address, p.Version, p.Platform))
	})
}

// fileSink stores each zip at the path that the function path returns.
type fileSink struct {
	// store, if not nil, contains zips that don't have to be fetched.
	store *store.Store
	swept *atomicfile.Sweeper
	path  func(p provider.Package) (string, error)
}

func newFileSink(kept *store.Store, path func(provider.Package) (string, error)) fileSink {
	return fileSink{store: kept, swept: &atomicfile.Sweeper{}, path: path}
}

// Has reports whether a file with the package's digest exists. See [Sink].
func (s fileSink) Has(ctx context.Context, p provider.Package) (path string, ok bool, err error) {
	if path, err = s.path(p); err != nil {
		return "", false, err
	}
	s.swept.Sweep(filepath.Dir(path))
	fi, err := lookAt(path)
	if err != nil || fi == nil {
		return path, false, err
	}
	if !fi.Mode().IsRegular() {
		return path, false, exists(path, "is %s, not a zip", kindOf(fi))
	}
	got, err := digestOf(ctx, path)
	if err != nil {
		return path, false, err
	}
	if got != p.Digest {
		return path, false, otherContents(path, got.String(), p.Digest.String())
	}
	return path, true, nil
}

// Put stores the zip. See [Sink].
func (s fileSink) Put(ctx context.Context, p provider.Package, open Opener) (path string, kept bool, err error) {
	path, kept, err = s.Has(ctx, p)
	if err != nil || kept {
		return path, kept, err
	}
	// 1. Copy the zip from the store or the source to a temporary file.
	zip, err := s.begin(ctx, p, path, open)
	if err != nil {
		return path, false, err
	}
	defer zip.Discard()
	// 2. Rename the file, unless another process has created it first.
	kept, err = s.commit(ctx, p, zip)
	return path, kept, err
}

// tempZip is a verified zip in a temporary file.
type tempZip struct {
	*atomicfile.File
	size int64 // in bytes
}

// begin copies a zip from the store or the source to a temporary file.
func (s fileSink) begin(ctx context.Context, p provider.Package, path string, open Opener) (tempZip, error) {
	if zip, ok := s.stored(ctx, p, path); ok {
		return zip, nil
	}
	if err := atomicfile.CheckFreeSpace(filepath.Dir(path), p.Size); err != nil {
		return tempZip{}, fmt.Errorf("writing %s: %w", path, err)
	}
	body, err := open(ctx)
	if err != nil {
		return tempZip{}, err
	}
	defer func() { _ = body.Close() }()
	f, err := atomicfile.Create(path, modeZip)
	if err != nil {
		return tempZip{}, err
	}
	size, err := transfer.Copy(f, bounded.Reader(ctx, body), p.Size)
	if err != nil {
		f.Discard()
		return tempZip{}, err
	}
	return tempZip{f, size}, nil
}

// commit renames the temporary file of a zip. If another process has created the file,
// commit keeps that file if it is valid.
func (s fileSink) commit(ctx context.Context, p provider.Package, zip tempZip) (kept bool, err error) {
	err = zip.CommitNew()
	if errors.Is(err, fs.ErrExist) {
		// Another process created the file first. Check this file.
		if _, kept, problem := s.Has(ctx, p); problem != nil || kept {
			return kept, problem
		}
	}
	return false, err
}

// stored copies a zip from the store to a temporary file. ok is false if the store
// doesn't have the zip or if copying fails. The caller then copies the zip from the
// source. If the error persists, copying from the source returns it.
func (s fileSink) stored(ctx context.Context, p provider.Package, path string) (zip tempZip, ok bool) {
	blob, ok := s.store.Blob(ctx, p.Digest)
	if !ok {
		return tempZip{}, false
	}
	defer func() { _ = blob.Close() }()
	if p.Size >= 0 && p.Size != blob.Size() {
		return tempZip{}, false
	}
	f, err := atomicfile.Copy(ctx, path, modeZip, blob.File())
	if err != nil {
		return tempZip{}, false
	}
	if blob.Unchanged() != nil {
		f.Discard()
		return tempZip{}, false
	}
	return tempZip{f, blob.Size()}, true
}

// PutDirectory returns an error, because the package has no zip. See [Sink].
func (s fileSink) PutDirectory(context.Context, provider.Package, string) (path string, kept bool, err error) {
	return "", false, errZipRequired
}

func digestOf(ctx context.Context, path string) (digest.Digest, error) {
	f, err := bounded.OpenFile(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	d, err := digest.SHA256.FromReader(bounded.Reader(ctx, f))
	if err != nil {
		return "", fmt.Errorf("hashing %s: %w", path, err)
	}
	return d, nil
}
