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
// DIR/HOST/NAMESPACE/TYPE/terraform-provider-TYPE_VERSION_OS_ARCH.zip, and says in
// index.json and VERSION.json beside them that they are there, with their hashes:
// the network mirror protocol as files. See
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

// Has reports whether the zip is there and listed, with both hashes. The h1 that is
// listed is believed: whoever may write the list may write the zip. Lists that
// say something else of the package, or can't be read, are [ErrExists]. See
// [Sink].
func (s *networkSink) Has(ctx context.Context, p provider.Package) (path string, ok bool, err error) {
	path, there, listed, err := s.look(ctx, p)
	return path, there && listed, err
}

func (s *networkSink) look(ctx context.Context, p provider.Package) (path string, there, listed bool, err error) {
	if path, there, err = s.zips.Has(ctx, p); err != nil {
		return path, false, false, err
	}
	listed, err = s.lists.has(p, "")
	return path, there, listed, err
}

// Put stores the zip, and lists it when it is there. Its h1 is computed while it
// passes and not taken from a package that states one: lock files get it from
// here. Errors are also those of an unsafe archive, and *[sums.MismatchError] when
// the package states another h1. See [Sink].
func (s *networkSink) Put(ctx context.Context, p provider.Package, open Opener) (path string, kept bool, err error) {
	path, there, listed, err := s.look(ctx, p)
	if err != nil || there && listed {
		return path, there, err
	}
	// 1. The zip, and its h1.
	var h1 string
	if there {
		kept = true
		h1, err = fileH1(ctx, p, path)
	} else {
		h1, kept, err = s.putZip(ctx, p, path, open)
	}
	if err != nil {
		return path, false, err
	}
	// 2. What says that it is there.
	return path, kept, s.lists.add(ctx, p, h1)
}

// PutDirectory refuses: there is no zip of the package. See [Sink].
func (s *networkSink) PutDirectory(ctx context.Context, p provider.Package, from string) (path string, kept bool, err error) {
	return s.zips.PutDirectory(ctx, p, from)
}

// putZip stores a zip and hashes what it holds while it passes. One that can't be
// hashed like that, or did not come from the source, is read once more, before it
// gets its name.
func (s *networkSink) putZip(ctx context.Context, p provider.Package, path string, open Opener) (h1 string, kept bool, err error) {
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
		return "", false, err
	}
	defer zip.Discard()
	contents, err := passing.contents()
	if _, again := errors.AsType[*packagezip.NotStreamableError](err); again {
		contents, err = hashZip(ctx, zip, zip.size)
	}
	if h1, err = checkedH1(p, contents, err); err != nil {
		return "", false, err
	}
	if _, err := s.lists.has(p, h1); err != nil {
		return "", false, err
	}
	kept, err = s.zips.commit(ctx, p, zip)
	return h1, kept, err
}

// fileH1 hashes a zip that was there.
func fileH1(ctx context.Context, p provider.Package, path string) (string, error) {
	f, err := bounded.OpenFile(path)
	if err != nil {
		return "", err
	}
	defer func() { _ = f.Close() }()
	info, err := f.Stat()
	if err != nil {
		return "", err
	}
	contents, err := hashZip(ctx, f, info.Size())
	return checkedH1(p, contents, err)
}

// checkedH1 holds what was computed against what the package states.
func checkedH1(p provider.Package, contents packagezip.Contents, err error) (string, error) {
	if err != nil {
		return "", fmt.Errorf("reading %s: %w", p.Filename, err)
	}
	return contents.H1, contents.VerifyH1(p.Filename+" h1", p.H1)
}

func hashZip(ctx context.Context, zip io.ReaderAt, size int64) (packagezip.Contents, error) {
	archive, err := packagezip.Open(zip, size)
	if err != nil {
		return packagezip.Contents{}, err
	}
	return archive.Contents(ctx)
}

// passingHash hashes a zip while it passes, if it does.
type passingHash struct {
	writer *packagezip.HashWriter
}

// of returns a zip's content, which is hashed as it is read.
func (h *passingHash) of(ctx context.Context, body io.ReadCloser) io.ReadCloser {
	h.close()
	h.writer = packagezip.NewHashWriter(ctx)
	return struct {
		io.Reader
		io.Closer
	}{io.TeeReader(body, h.writer), body}
}

// contents are those of the zip that has passed; it is as if it could not be
// hashed when none has.
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
