package exec

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/tofu-oci/tofu-oci/internal/packagezip"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/pull"
	"github.com/tofu-oci/tofu-oci/pkg/source"
	"github.com/tofu-oci/tofu-oci/pkg/store"
)

// errLeft is returned for a package that is left to the user's configuration.
var errLeft = errors.New("the package is already installed through the CLI configuration")

// fetch downloads a package from the source into the store. refused is the reason the
// package in the store was rejected, or nil. If the source's metadata can't be read,
// the error includes refused.
func (o Options) fetch(ctx context.Context, s selection, refused error, acquire func(context.Context, int64) (func(), error)) (store.Known, error) {
	src := source.NewCached(o.Source, o.Store, source.CacheOptions{ReadOnly: true})
	to := &sink{store: o.Store, selection: s}
	verify := func(ctx context.Context, r provider.Release) (provider.Verdict, error) {
		refused, to.Evidence = nil, evidenceOf(ctx, r)
		if o.Verify == nil {
			return provider.Verdict{}, nil
		}
		return o.Verify(ctx, r)
	}
	_, err := pull.Release(ctx, src, to, s.Address, s.Version, pull.Options{
		Platforms: []provider.Platform{s.Platform}, Acquire: acquire, Verify: verify, Backoff: o.Backoff, Progress: o.Progress,
	})
	if errors.Is(err, errLeft) {
		o.Left(s.Address, "it is already unpacked in a filesystem_mirror")
		return store.Known{}, nil
	}
	if err != nil {
		if refused != nil {
			err = fmt.Errorf("%w; requesting newer verification metadata: %w", refused, err)
		}
		return store.Known{}, err
	}
	o.Store.Remember(s.name(), to.Known)
	return to.Known, nil
}

// sink stores the package of a selection in the store, as a zip or unpacked.
type sink struct {
	store     *store.Store
	selection selection
	// Known describes the stored package.
	store.Known
}

// Has returns false. Put checks whether the store has the package.
func (s *sink) Has(context.Context, provider.Package) (path string, ok bool, err error) {
	return s.store.Dir(), false, nil
}

// PutDirectory returns an error, because zh: hashes can't be verified without a zip.
func (s *sink) PutDirectory(context.Context, provider.Package, string) (path string, kept bool, err error) {
	return "", false, errLeft
}

// Put usually reads the zip only once, because the h1: hash in the metadata determines
// whether to unpack the zip. If this hash is wrong, Put returns an error.
func (s *sink) Put(ctx context.Context, p provider.Package, open pull.Opener) (path string, kept bool, err error) {
	path = s.store.Dir()
	if err := s.selection.canMatch(p); err != nil {
		return path, false, err
	}
	s.Zip = p.Digest
	// 1. Use the unpacked package if the store has one.
	packed, unpacked := s.selection.packedIfStated(p), false
	if tree, ok := s.store.Tree(ctx, p.Digest); ok {
		h := tree.Hashes()
		_ = tree.Close()
		if err := s.verify(p, packagezip.Contents{H1: h.H1, H1Unpacked: h.Unpacked}); err != nil {
			return path, false, err
		}
		packed, unpacked = s.selection.packed(s.Hashes), true
	}
	// 2. Otherwise, read the zip.
	if packed || !unpacked {
		if err := s.read(ctx, p, open, packed); err != nil {
			return path, false, err
		}
	}
	// 3. Read the zip again if the other form is needed. The prediction can be wrong if
	// the metadata has no h1: hash or if the zip has directory entries.
	if now := s.selection.packed(s.Hashes); now != packed {
		err = s.read(ctx, p, open, now)
	}
	return path, false, err
}

// storingOpener returns an opener that stores the zip while it is read, unless the
// store has it.
func (s *sink) storingOpener(p provider.Package, open pull.Opener) pull.Opener {
	return func(ctx context.Context) (io.ReadCloser, error) {
		if zip, ok := s.store.Blob(ctx, p.Digest); ok {
			_ = zip.Close()
			return open(ctx)
		}
		body, err := open(ctx)
		if err != nil {
			return nil, err
		}
		return s.store.Keep(p.Digest, p.Size, body), nil
	}
}

// read reads the zip, and either stores it or unpacks it into the store.
func (s *sink) read(ctx context.Context, p provider.Package, open pull.Opener, packed bool) error {
	if packed {
		contents, err := packagezip.HashAny(ctx, packagezip.Opener(s.storingOpener(p, open)), p.Size, s.store.Dir())
		if err != nil {
			return fmt.Errorf("reading %s: %w", p.Filename, err)
		}
		return s.verify(p, contents)
	}
	return s.store.Unpack(ctx, p.Digest, func(dir string) (store.Hashes, error) {
		contents, err := packagezip.UnpackAny(ctx, packagezip.Opener(open), p.Size, dir, s.store.Dir())
		if err != nil {
			return store.Hashes{}, fmt.Errorf("unpacking %s: %w", p.Filename, err)
		}
		err = s.verify(p, contents)
		return s.Hashes, err
	})
}

// verify returns an error if a zip does not match the metadata or a lock file.
func (s *sink) verify(p provider.Package, contents packagezip.Contents) error {
	s.Hashes = store.Hashes{H1: contents.H1, Unpacked: contents.H1Unpacked}
	if err := contents.VerifyH1(p.Filename+" h1", p.H1); err != nil {
		return err
	}
	return s.selection.accepts(p.Digest, s.Hashes)
}
