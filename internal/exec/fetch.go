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
var errLeft = errors.New("the CLI configuration already provides the package")

// fetch downloads a package from the source into the store. refused is the reason why
// the package in the store was rejected, or nil. If the source's metadata can't be
// read, the error includes refused.
func (o Options) fetch(ctx context.Context, s selection, refused error, acquire func(context.Context, int64) (func(), error)) (store.CachedZip, error) {
	src := source.NewCached(o.Source, o.Store, source.CacheOptions{ReadOnly: true})
	to := &sink{store: o.Store, selection: s}
	verify := func(ctx context.Context, r provider.Release) (provider.Verdict, error) {
		refused, to.VerificationMetadata = nil, metadataOf(ctx, r)
		if o.Verify == nil {
			return provider.Verdict{}, nil
		}
		return o.Verify(ctx, r)
	}
	_, err := pull.Release(ctx, src, to, s.Address, s.Version, pull.Options{
		Platforms: []provider.Platform{s.Platform}, Acquire: acquire, Verify: verify, Backoff: o.Backoff, Progress: o.Progress,
	})
	if errors.Is(err, errLeft) {
		o.Left(s.Address, "the package is already unpacked in a filesystem_mirror")
		return store.CachedZip{}, nil
	}
	if err != nil {
		if refused != nil {
			err = fmt.Errorf("%w; requesting newer verification metadata: %w", refused, err)
		}
		return store.CachedZip{}, err
	}
	o.Store.RecordZip(s.name(), to.CachedZip)
	return to.CachedZip, nil
}

// sink stores the zip of a selection in the store.
type sink struct {
	store     *store.Store
	selection selection
	// Known describes the stored package.
	store.CachedZip
}

// Has returns false. Put checks whether the store has the package.
func (s *sink) Has(context.Context, provider.Package) (path string, ok bool, err error) {
	return s.store.Dir(), false, nil
}

// PutDirectory returns an error, because zh: hashes can't be verified without a zip.
func (s *sink) PutDirectory(context.Context, provider.Package, string) (path string, kept bool, err error) {
	return "", false, errLeft
}

// Put stores the zip while it is read. The client unpacks it.
func (s *sink) Put(ctx context.Context, p provider.Package, open pull.Opener) (path string, kept bool, err error) {
	path = s.store.Dir()
	if err := s.selection.canMatch(p); err != nil {
		return path, false, err
	}
	contents, err := packagezip.HashAny(ctx, packagezip.Opener(s.storingOpener(p, open)), p.Size, path)
	if err != nil {
		return path, false, fmt.Errorf("reading %s: %w", p.Filename, err)
	}
	s.Zip, s.Hashes = p.Digest, store.Hashes{H1: contents.H1, Unpacked: contents.H1Unpacked}
	if err := contents.VerifyH1(p.Filename+" h1", p.H1); err != nil {
		return path, false, err
	}
	return path, false, s.selection.accepts(p.Digest, s.Hashes)
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
