package pull

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/tofu-oci/tofu-oci/internal/bounded"
	"github.com/tofu-oci/tofu-oci/internal/packagezip"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/store"
)

// networkSink stores zips as
// DIR/HOST/NAMESPACE/TYPE/terraform-provider-TYPE_VERSION_OS_ARCH.zip. It lists the
// zips with their hashes in index.json and VERSION.json in the same directory.
// Together, these files implement the network mirror protocol. See
// https://opentofu.org/docs/internals/provider-network-mirror-protocol/.
type networkSink struct {
	zips  fileSink
	lists *mirrorLists
}

func newNetworkSink(dir string, kept *store.Store) *networkSink {
	return &networkSink{
		zips: newFileSink(kept, func(p provider.Package) (string, error) {
			return networkPath(dir, p.Address, provider.Filename(p.Address, p.Version, p.Platform))
		}),
		lists: &mirrorLists{dir: dir},
	}
}

// Has reports whether the zip exists and is listed with both hashes. The listed h1:
// hash is trusted, because anyone who can write the list can also write the zip. If a
// list contradicts the package or can't be read, Has returns [ErrExists]. See [Sink].
func (s *networkSink) Has(ctx context.Context, p provider.Package) (path string, ok bool, err error) {
	path, found, listed, err := s.look(ctx, p)
	return path, found && listed, err
}

func (s *networkSink) look(ctx context.Context, p provider.Package) (path string, found, listed bool, err error) {
	if path, found, err = s.zips.Has(ctx, p); err != nil {
		return path, false, false, err
	}
	listed, err = s.lists.has(p, nil)
	return path, found, listed, err
}

// Put stores the zip and then lists it. It computes the h1: hash from the zip, because
// clients write the hash to lock files. Put also returns errors for unsafe archives, and
// a *[sums.MismatchError] if the package has a different h1: hash. See [Sink].
func (s *networkSink) Put(ctx context.Context, p provider.Package, open Opener) (path string, kept bool, err error) {
	path, found, listed, err := s.look(ctx, p)
	if err != nil || found && listed {
		return path, found, err
	}
	// 1. Store the zip, and compute its h1: hash.
	var h1 []string
	if found {
		kept = true
		h1, err = fileH1(ctx, p, path)
	} else {
		h1, kept, err = s.putZip(ctx, p, path, open)
	}
	if err != nil {
		return path, false, err
	}
	// 2. Add the zip to the lists.
	return path, kept, s.lists.add(ctx, p, h1)
}

// PutDirectory returns an error, because the package has no zip. See [Sink].
func (s *networkSink) PutDirectory(ctx context.Context, p provider.Package, from string) (path string, kept bool, err error) {
	return s.zips.PutDirectory(ctx, p, from)
}

// putZip stores a zip and hashes its contents while reading it. If the zip can't be
// hashed as a stream, or if it comes from the store, putZip reads it again before
// renaming the file.
func (s *networkSink) putZip(ctx context.Context, p provider.Package, path string, open Opener) (h1 []string, kept bool, err error) {
	var passing passingHash
	defer passing.close()
	zip, err := s.zips.begin(ctx, p, path, func(ctx context.Context) (io.ReadCloser, error) {
		body, err := open(ctx)
		if err != nil {
			return nil, err
		}
		return passing.of(ctx, body), nil
	})
	if err != nil {
		return nil, false, err
	}
	defer zip.Discard()
	contents, err := passing.contents()
	if _, again := errors.AsType[*packagezip.NotStreamableError](err); again {
		contents, err = hashZip(ctx, zip, zip.size)
	}
	if h1, err = checkedH1(p, contents, err); err != nil {
		return nil, false, err
	}
	if _, err := s.lists.has(p, h1); err != nil {
		return nil, false, err
	}
	kept, err = s.zips.commit(ctx, p, zip)
	return h1, kept, err
}

// fileH1 returns the h1: hashes of an existing zip.
func fileH1(ctx context.Context, p provider.Package, path string) ([]string, error) {
	f, err := bounded.OpenFile(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	contents, err := hashZip(ctx, f, info.Size())
	return checkedH1(p, contents, err)
}

// checkedH1 returns the computed h1: hashes. It returns an error if the hashes differ
// from p.H1, unless p.H1 is empty.
func checkedH1(p provider.Package, contents packagezip.Contents, err error) ([]string, error) {
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", p.Filename, err)
	}
	return contents.H1Hashes(), contents.VerifyH1(p.Filename+" h1", p.H1)
}

func hashZip(ctx context.Context, zip io.ReaderAt, size int64) (packagezip.Contents, error) {
	archive, err := packagezip.Open(zip, size)
	if err != nil {
		return packagezip.Contents{}, err
	}
	return archive.Contents(ctx)
}

// passingHash hashes the contents of a zip while the zip is read, if this is possible.
type passingHash struct {
	writer *packagezip.HashWriter
}

// of returns a reader that hashes the content of body.
func (h *passingHash) of(ctx context.Context, body io.ReadCloser) io.ReadCloser {
	h.close()
	h.writer = packagezip.NewHashWriter(ctx)
	return struct {
		io.Reader
		io.Closer
	}{io.TeeReader(body, h.writer), body}
}

// contents returns the hashes of the zip. If no zip was read, contents returns a
// *[packagezip.NotStreamableError].
func (h *passingHash) contents() (packagezip.Contents, error) {
	if h.writer == nil {
		return packagezip.Contents{}, &packagezip.NotStreamableError{}
	}
	return h.writer.Contents()
}

func (h *passingHash) close() {
	if h.writer != nil {
		_ = h.writer.Close()
	}
}
