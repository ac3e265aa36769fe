package provider

import (
	"slices"
	"time"

	"github.com/opencontainers/go-digest"
)

// Package is the zip archive of one provider version for one platform.
type Package struct {
	Address  Address
	Version  Version
	Platform Platform
	// Filename is the conventional name of the archive, as returned by the function
	// [Filename]. Only this name is used for files.
	Filename string
	// ListedAs is the name of the archive in SHA256SUMS, or empty if this name equals
	// Filename. The names can differ in artifacts from other tools. ListedAs is used
	// only to look up checksums, never as a path.
	ListedAs string
	// Digest is the SHA-256 digest of the archive. Its hexadecimal form appears in
	// SHA256SUMS, in the digest of the OCI blob, and in the zh: hash of lock files.
	Digest digest.Digest
	// Size is the size of the archive in bytes, or -1 if unknown.
	Size int64
	// H1 is the h1: hash of the contents, as in lock files. It is empty if unknown.
	H1 string
	// H1Unpacked is the h1: hash that clients compute after they have unpacked the
	// archive. It differs from H1 if the archive has entries for directories. It is empty
	// if it is unknown or equal to H1.
	H1Unpacked string
	// Documents lists the documents that are about only this package.
	Documents []Document
	// Locator is the location of the archive. Only the source that created this value
	// uses it.
	Locator any
}

// H1Hashes returns the known h1: hashes of the contents.
func (p Package) H1Hashes() []string {
	return slices.DeleteFunc([]string{p.H1, p.H1Unpacked}, func(h1 string) bool { return h1 == "" })
}

// Release is a version of a provider with its packages. It contains all packages, or
// the packages for the requested platforms.
type Release struct {
	Address Address
	Version Version
	// Packages lists one package per platform, sorted by platform.
	Packages []Package
	// Omitted contains one error for each platform that the source lists without a
	// usable package, sorted by platform. It is empty if platforms were requested.
	Omitted []*PlatformError
	// Protocols lists the plugin protocol versions, such as "5.0", according to the
	// origin registry. It is empty if unknown.
	Protocols []string
	// Published is the publication date from the origin registry, in UTC and truncated
	// to seconds. It is zero if unknown. The date is not verified, and an origin
	// registry can return any date.
	Published time.Time
	// Documents lists the documents about the release: SHA256SUMS, signatures, and keys.
	Documents []Document
	// RegistryModule is the address of a mirrored module in its module registry, as the
	// artifact states it. It is empty for providers and for modules that were pushed.
	RegistryModule string
	// Stored is the location of the release in an OCI repository. It is the zero value if
	// the release comes from elsewhere or from multiple repositories.
	Stored Stored
	// Locator is the location of the release. Only the source that created this value
	// uses it.
	Locator any
}

// Stored is the location of a release in an OCI repository.
type Stored struct {
	// Repository is the name of the repository, such as "ghcr.io/acme/null" or
	// "oci-layout:mirror/null".
	Repository string
	Tag        string
	// Digest is the digest of the index.
	Digest digest.Digest
}

// Document returns the first document of the given kind.
func (r Release) Document(kind DocumentKind) (Document, bool) {
	for _, d := range r.Documents {
		if d.Kind == kind {
			return d, true
		}
	}
	return Document{}, false
}

// Package returns the package for a platform. If the release has no package for the
// platform, the error is a *[PlatformError].
func (r Release) Package(p Platform) (Package, error) {
	i := slices.IndexFunc(r.Packages, func(pkg Package) bool { return pkg.Platform == p })
	if i < 0 {
		return Package{}, &PlatformError{Address: r.Address, Version: r.Version, Wanted: p, Have: r.Platforms()}
	}
	return r.Packages[i], nil
}

// Platforms returns the platforms of the packages.
func (r Release) Platforms() []Platform {
	ps := make([]Platform, len(r.Packages))
	for i, p := range r.Packages {
		ps[i] = p.Platform
	}
	return ps
}
