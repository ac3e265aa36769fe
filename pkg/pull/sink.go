package pull

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/store"
)

// Sink stores verified packages. It must be safe for concurrent use, even if multiple
// processes use the same directory.
type Sink interface {
	// Has reports whether a valid package exists. path is its existing or future
	// location. If path has any other content, Has returns [ErrExists].
	//
	// If a sink must read the zip to check a package, Has returns false, and Put
	// compares the contents.
	Has(ctx context.Context, p provider.Package) (path string, ok bool, err error)
	// Put stores the zip that open returns. Each call to open returns a new verifying
	// reader. See [provider.Source]. The package appears at path only after the reader
	// has returned [io.EOF]. A valid existing package is kept. Put never overwrites any
	// other content, and returns [ErrExists] instead.
	Put(ctx context.Context, p provider.Package, open Opener) (path string, kept bool, err error)
	// PutDirectory copies an unpacked package from a directory. If the directory's h1:
	// hash doesn't match the package, PutDirectory returns an error. In all other
	// respects, it behaves like Put. Sinks that store zips return an error.
	PutDirectory(ctx context.Context, p provider.Package, from string) (path string, kept bool, err error)
}

// Opener opens a zip. The sink closes the reader. If the zip can't be unpacked while it
// is read, the sink opens the zip again.
type Opener func(ctx context.Context) (io.ReadCloser, error)

// Layout is the structure of a directory with packages.
type Layout string

const (
	// LayoutZip stores all zips in one directory.
	LayoutZip Layout = "zip"
	// LayoutPacked stores zips in a directory per provider, for OpenTofu's
	// filesystem_mirror.
	LayoutPacked Layout = "packed"
	// LayoutUnpacked stores unpacked packages in a directory per package, for OpenTofu's
	// filesystem_mirror and plugin cache.
	LayoutUnpacked Layout = "unpacked"
	// LayoutNetwork stores a network mirror as files. It stores zips in a directory per
	// provider, and the JSON documents that OpenTofu and Terraform request from a
	// network_mirror. Any HTTPS server can serve these files.
	LayoutNetwork Layout = "network"
)

// NewSink returns a sink that stores packages in dir. It creates dir when it stores the
// first package. If cache is not nil, the sink copies unpacked packages from the cache
// instead of opening their zips, and adds the packages that it unpacks to the cache. To
// cache zips, use [source.NewCached].
func NewSink(layout Layout, dir string, cache *store.Store) (Sink, error) {
	switch layout {
	case LayoutZip, LayoutPacked, LayoutUnpacked, LayoutNetwork:
	default:
		return nil, &provider.SyntaxError{What: "layout", Input: string(layout), Problem: "must be one of zip, packed, unpacked, network"}
	}
	if err := checkDirectory(dir); err != nil {
		return nil, err
	}
	switch layout {
	case LayoutPacked:
		return newPackedSink(dir, cache), nil
	case LayoutUnpacked:
		return newUnpackedSink(dir, cache), nil
	case LayoutNetwork:
		return newNetworkSink(dir, cache), nil
	}
	return newZipSink(dir, cache), nil
}

// checkDirectory returns an error if dir can't be used as a directory.
func checkDirectory(dir string) error {
	if dir == "" {
		return errors.New("no directory specified for packages")
	}
	fi, err := os.Stat(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return fmt.Errorf("checking the package directory: %w", err)
	case !fi.IsDir():
		return fmt.Errorf("%s is %s, not a directory", dir, kindOf(fi))
	}
	return nil
}
