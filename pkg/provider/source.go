package provider

import (
	"context"
	"io"
)

// Source is a place that releases come from: an origin registry, a directory
// of zips, an OCI repository. A Source value lives for one run and keeps the
// documents that it fetched. It is safe for concurrent use.
type Source interface {
	// Versions lists what exists, newest first. The error is
	// [ErrProviderNotFound] when this source does not know the provider.
	Versions(ctx context.Context, a Address) ([]Version, error)
	// Release describes a version: metadata only, no zip is read. Naming
	// platforms keeps it to those. Errors: [ErrProviderNotFound],
	// [ErrVersionNotFound], *[PlatformError].
	Release(ctx context.Context, a Address, v Version, only ...Platform) (Release, error)
	// Open gives the zip's bytes and size (-1: unknown). The reader is
	// verified: the Read that would complete the content returns an error
	// instead of the last bytes when they are not what p.Digest and p.Size say.
	Open(ctx context.Context, p Package) (io.ReadCloser, int64, error)
}
