package pull

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"

	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/store"
)

// Sink is where verified packages go. It is safe for concurrent use, also by
// several processes with the same directory.
type Sink interface {
	// Has reports whether the package is there already and right, and where it
	// is or will be. Something else in its place is [ErrExists].
	//
	// A sink that can't tell without the zip answers no, and leaves the
	// comparison to Put.
	Has(ctx context.Context, p provider.Package) (path string, ok bool, err error)
	// Put stores the zip that open gives, from its start each time it is called,
	// and verified: see [provider.Source]. Nothing appears at path unless it ends
	// in [io.EOF]. A package that was there and is right is kept; something else
	// in its place is never overwritten but [ErrExists].
	Put(ctx context.Context, p provider.Package, open Opener) (path string, kept bool, err error)
	// PutDirectory stores a package that is unpacked already, a copy of the files
	// below from, when their h1 is the package's; else as Put. A sink of zips
	// refuses that.
	PutDirectory(ctx context.Context, p provider.Package, from string) (path string, kept bool, err error)
}

// Opener gives a zip from its start. A sink closes what it opens, and opens it
// again where it cannot be unpacked while it arrives.
type Opener func(ctx context.Context) (io.ReadCloser, error)

// Layout is how a directory holds packages.
type Layout string

const (
	// LayoutZip is all zips side by side.
	LayoutZip Layout = "zip"
	// LayoutPacked is zips in a directory for each provider, as OpenTofu's
	// filesystem_mirror reads them.
	LayoutPacked Layout = "packed"
	// LayoutUnpacked is what the zips hold, in a directory for each package, as
	// OpenTofu's filesystem_mirror and plugin cache have them.
	LayoutUnpacked Layout = "unpacked"
	// LayoutNetwork is a network mirror as files: zips in a directory for each
	// provider, and beside them the JSON documents that OpenTofu and Terraform ask
	// a network_mirror for. Any https server can serve it.
	LayoutNetwork Layout = "network"
)

func layouts() []Layout { return []Layout{LayoutZip, LayoutPacked, LayoutUnpacked, LayoutNetwork} }

// ParseLayout reads a layout's name. Errors are *[provider.SyntaxError].
func ParseLayout(s string) (Layout, error) {
	names := make([]string, 0, len(layouts()))
	for _, layout := range layouts() {
		if s == string(layout) {
			return layout, nil
		}
		names = append(names, string(layout))
	}
	return "", &provider.SyntaxError{What: "layout", Input: s, Problem: "must be one of " + strings.Join(names, ", ")}
}

// NewSink returns a sink that stores packages in dir, which is created when the first
// package is stored. If cache is not nil, the sink copies unpacked packages from it
// instead of opening their zips, and stores packages that it unpacks in it. To cache
// zips, use [source.NewCached].
func NewSink(layout Layout, dir string, cache *store.Store) (Sink, error) {
	if _, err := ParseLayout(string(layout)); err != nil {
		return nil, err
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

// checkDirectory refuses a directory that can't become one.
func checkDirectory(dir string) error {
	if dir == "" {
		return errors.New("no directory is named to put packages in")
	}
	fi, err := os.Stat(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return fmt.Errorf("looking at the directory to put packages in: %w", err)
	case !fi.IsDir():
		return fmt.Errorf("%s is to hold packages but is %s", dir, kindOf(fi))
	}
	return nil
}
