package source

import (
	"context"
	"errors"
	"io"

	"github.com/tofu-oci/tofu-oci/internal/httpclient"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/store"
	"github.com/tofu-oci/tofu-oci/pkg/sums"
)

// Cached is a source that opens zips from a store. It requests only missing zips from
// the underlying source. It is safe for concurrent use.
type Cached struct {
	inner   provider.Source
	can     provider.Capabilities
	store   *store.Store
	options CacheOptions
}

// CacheOptions configures [NewCached]. The zero value stores every zip that is read.
type CacheOptions struct {
	// ReadOnly disables writing to the store. Use it for processes that transfer many
	// zips and read each zip only once.
	ReadOnly bool
}

var _ provider.Capable = (*Cached)(nil)

// NewCached returns a caching decorator for inner.
func NewCached(inner provider.Source, s *store.Store, o CacheOptions) *Cached {
	return &Cached{inner: inner, can: provider.CapabilitiesOf(inner), store: s, options: o}
}

// Versions returns the versions of the underlying source.
func (c *Cached) Versions(ctx context.Context, a provider.Address) ([]provider.Version, error) {
	return c.inner.Versions(ctx, a)
}

// Release returns the release of the underlying source.
func (c *Cached) Release(ctx context.Context, a provider.Address, v provider.Version, only ...provider.Platform) (provider.Release, error) {
	return c.inner.Release(ctx, a, v, only...)
}

// Capabilities returns the capabilities of the underlying source.
func (c *Cached) Capabilities() provider.Capabilities { return c.can }

// Open opens the zip in the store. If the store doesn't have the zip, Open opens it in
// the underlying source and stores the content while it is read. Local files are not
// stored. If a stored zip turns out to be damaged while it is read, the error is
// retryable, and the next attempt reads the zip from the source.
func (c *Cached) Open(ctx context.Context, p provider.Package) (io.ReadCloser, int64, error) {
	if blob, ok := c.store.Blob(ctx, p.Digest); ok {
		if p.Size < 0 || p.Size == blob.Size() {
			return &stored{blob.Verified(ctx, p.Filename)}, blob.Size(), nil
		}
		_ = blob.Close() // the source reports the wrong size
	}
	body, size, err := c.inner.Open(ctx, p)
	if err != nil || c.options.ReadOnly || c.isFile(p) {
		return body, size, err
	}
	return c.store.Keep(p.Digest, size, body), size, nil
}

func (c *Cached) isFile(p provider.Package) bool {
	if c.can.Path == nil {
		return false
	}
	_, is := c.can.Path(p)
	return is
}

// stored reads a zip from the store. It makes mismatch errors retryable.
type stored struct{ io.ReadCloser }

func (s *stored) Read(p []byte) (int, error) {
	n, err := s.ReadCloser.Read(p)
	if _, damaged := errors.AsType[*sums.MismatchError](err); damaged {
		err = &httpclient.RetryableError{Err: err}
	}
	return n, err
}
