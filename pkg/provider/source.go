package provider

import (
	"context"
	"io"
	"time"

	"github.com/opencontainers/go-digest"
)

// Source is a place that releases come from: an origin registry, a directory
// of zips, an OCI repository. It is safe for concurrent use. What a source can do
// beyond this it declares in its [Capabilities].
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

// Capabilities are what a source can do beyond [Source]: the one place where
// such things are declared. A function that is nil is something that the source
// cannot do, and a source that wraps another one hands all of them on.
type Capabilities struct {
	// Published tells that releases are there whole and do not change, as at an
	// origin registry or in an OCI repository. The directory of a build is not
	// like that: other jobs may have other packages of the same version.
	Published bool
	// Platforms gives the platforms of a version, sorted, for less than its
	// release costs.
	Platforms func(ctx context.Context, a Address, v Version) ([]Platform, error)
	// Digests gives the digests of all zips of a version for less than its
	// release costs. They are not signed: they tell whether something changed,
	// and are no evidence. A nil map means that the source cannot tell.
	Digests func(ctx context.Context, a Address, v Version) (map[Platform]digest.Digest, error)
	// Date gives when a version was published, as its release does, for less than
	// that costs; zero where nobody says so. Errors are those of Release.
	Date func(ctx context.Context, a Address, v Version) (time.Time, error)
	// Denied lists the denied versions, newest first. Versions omits them.
	Denied func(ctx context.Context, a Address) ([]Version, error)
	// Documents gives the documents about all packages of a release that are no
	// part of it, such as an SBOM that refers to an OCI index. The release is
	// one that the source gave.
	Documents func(ctx context.Context, r Release) ([]Document, error)
	// Stat checks that a package's zip exists and has the expected size, without reading
	// it. It returns the errors of Open. checked is false if only Open can find out.
	Stat func(ctx context.Context, p Package) (checked bool, err error)
	// Path gives the local file that a package's zip is; ok is false when there
	// is none.
	Path func(p Package) (path string, ok bool)
	// Directory gives the directory of a package that is there unpacked, and has
	// no zip; its h1 is the package's. ok is false for all other packages.
	Directory func(p Package) (path string, ok bool)
}

// Capable is a [Source] that declares capabilities.
type Capable interface {
	Source
	// Capabilities are the same during the source's whole life.
	Capabilities() Capabilities
}

// CapabilitiesOf returns what a source declares, the zero value when it declares
// nothing.
func CapabilitiesOf(s Source) Capabilities {
	if c, ok := s.(Capable); ok {
		return c.Capabilities()
	}
	return Capabilities{}
}
