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

// Cached is a source whose zips come out of a store, where that has them: without
// a request to the other source. It is safe for concurrent use.
type Cached struct {
	inner   provider.Source
	can     provider.Capabilities
	store   *store.Store
	options CacheOptions
}

// CacheOptions of [NewCached]. The zero value keeps every zip that is read.
type CacheOptions struct {
	// TakeOnly adds nothing to the store. It is for who moves more zips than this
	// machine needs, and needs each of them once.
	TakeOnly bool
}

var _ provider.Capable = (*Cached)(nil)

// NewCached decorates a source.
func NewCached(inner provider.Source, s *store.Store, o CacheOptions) *Cached {
	return &Cached{inner: inner, can: provider.CapabilitiesOf(inner), store: s, options: o}
}

// Versions lists what the source lists.
func (c *Cached) Versions(ctx context.Context, a provider.Address) ([]provider.Version, error) {
	return c.inner.Versions(ctx, a)
}

// Release describes a version as the source does.
func (c *Cached) Release(ctx context.Context, a provider.Address, v provider.Version, only ...provider.Platform) (provider.Release, error) {
	return c.inner.Release(ctx, a, v, only...)
}

// Capabilities are those of the source.
func (c *Cached) Capabilities() provider.Capabilities { return c.can }

// Open opens the zip in the store; else at the source, and what is read of that goes
// into the store in the same pass. Zips that are files at hand are not kept twice.
// A zip of the store that turns out to be damaged while it is read is worth another
// go, which gets it from the source.
func (c *Cached) Open(ctx context.Context, p provider.Package) (io.ReadCloser, int64, error) {
	if blob, ok := c.store.Blob(ctx, p.Digest); ok {
		if p.Size < 0 || p.Size == blob.Size() {
			return &stored{blob.Verified(ctx, p.Filename)}, blob.Size(), nil
		}
		_ = blob.Close() // the source has to say that its size is wrong
	}
	body, size, err := c.inner.Open(ctx, p)
	if err != nil || c.options.TakeOnly || c.isFile(p) {
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

// stored is a zip out of the store.
type stored struct{ io.ReadCloser }

func (s *stored) Read(p []byte) (int, error) {
	n, err := s.ReadCloser.Read(p)
	if _, damaged := errors.AsType[*sums.MismatchError](err); damaged {
		err = &httpclient.RetryableError{Err: err}
	}
	return n, err
}
