package provider

import (
	"context"
	"io"
	"slices"
	"time"

	"github.com/opencontainers/go-digest"
)

// Source provides releases, for example from an origin registry, a directory of zips, or
// an OCI repository. It must be safe for concurrent use. A source declares optional
// operations in its [Capabilities].
type Source interface {
	// Versions returns the existing versions, newest first. If the source does not have
	// the provider, Versions returns [ErrProviderNotFound].
	Versions(ctx context.Context, a Address) ([]Version, error)
	// Release returns the metadata of a version without reading zips. If platforms are
	// given, the release contains only the packages for these platforms. Release
	// returns [ErrProviderNotFound], [ErrVersionNotFound], or a *[PlatformError].
	Release(ctx context.Context, a Address, v Version, only ...Platform) (Release, error)
	// Open returns a reader for a package's zip, and the size of the zip in bytes. The
	// size is -1 if it is unknown. The reader verifies the content. If the content
	// doesn't match p.Digest and p.Size, the Read that would complete the content
	// returns an error instead of the last bytes.
	Open(ctx context.Context, p Package) (io.ReadCloser, int64, error)
}

// Capabilities contains the optional operations of a [Source]. If a function is nil,
// the source does not support the operation. A source that wraps another source
// forwards all capabilities of the inner source.
type Capabilities struct {
	// Published reports whether releases are complete and do not change, as in an origin
	// registry or an OCI repository. It is false for a build directory, because other
	// jobs can build other packages of the same version.
	Published bool
	// Platforms returns the platforms of a version in sorted order. It is cheaper than
	// Release.
	Platforms func(ctx context.Context, a Address, v Version) ([]Platform, error)
	// Digests returns the digests of all zips of a version. It is cheaper than Release.
	// The digests are not signed, so use them only to detect changes. A nil map means
	// that the source doesn't know the digests.
	Digests func(ctx context.Context, a Address, v Version) (map[Platform]digest.Digest, error)
	// Date returns the publication date of a version, as in the Published field of its
	// release. If the date is unknown, Date returns the zero time. It is cheaper than
	// Release and returns the same errors.
	Date func(ctx context.Context, a Address, v Version) (time.Time, error)
	// Denied returns the denied versions, newest first. Versions omits these versions.
	Denied func(ctx context.Context, a Address) ([]Version, error)
	// Documents returns documents about all packages of a release, such as an SBOM that
	// refers to an OCI index. These documents are not part of the release. The release
	// must come from this source.
	Documents func(ctx context.Context, r Release) ([]Document, error)
	// Attestations returns Sigstore bundles about the zips or the SHA256SUMS of a
	// release. The keys of the map are the digests of these files. The bundles are not
	// part of the release, and their signatures are not verified. The release must come
	// from this source. If some bundles are unavailable, Attestations returns the
	// remaining bundles and an error.
	Attestations func(ctx context.Context, r Release) (map[digest.Digest][]Document, error)
	// Stat checks that a package's zip exists and has the expected size, without
	// reading the zip. It returns the same errors as Open. If only Open can check the
	// zip, checked is false.
	Stat func(ctx context.Context, p Package) (checked bool, err error)
	// Path returns the path of a package's zip if it is a local file.
	Path func(p Package) (path string, ok bool)
	// Directory returns the path of a package that exists only as an unpacked directory.
	// The package's H1 is the h1: hash of this directory. For other packages, ok is false.
	Directory func(p Package) (path string, ok bool)
}

// Capable is a [Source] with capabilities.
type Capable interface {
	Source
	// Capabilities returns the same value on every call.
	Capabilities() Capabilities
}

// CapabilitiesOf returns the capabilities that s declares. If s declares none, it
// returns the zero value.
func CapabilitiesOf(s Source) Capabilities {
	if c, ok := s.(Capable); ok {
		return c.Capabilities()
	}
	return Capabilities{}
}

// WithAttestations returns the release with the source's attestations added to the
// documents of its packages. The release must come from this source.
func WithAttestations(ctx context.Context, s Source, r Release) (Release, error) {
	ask := CapabilitiesOf(s).Attestations
	if ask == nil {
		return r, nil
	}
	found, err := ask(ctx, r)
	if err != nil {
		return r, err
	}
	return r.WithDocuments(found), nil
}

// WithDocuments returns a copy of the release with additional documents for its
// packages. The keys of more are the digests of the zips.
func (r Release) WithDocuments(more map[digest.Digest][]Document) Release {
	r.Packages = slices.Clone(r.Packages)
	for i, p := range r.Packages {
		r.Packages[i].Documents = slices.Concat(p.Documents, more[p.Digest])
	}
	return r
}
