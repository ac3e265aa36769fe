package provider

import (
	"slices"
	"time"

	"github.com/opencontainers/go-digest"
)

// Package is one zip archive: a provider of one version for one platform.
type Package struct {
	Address  Address
	Version  Version
	Platform Platform
	// Filename is the archive's conventional name, see the function [Filename].
	// It is the only one that is written to a disk.
	Filename string
	// ListedAs is the name by which SHA256SUMS lists the archive, where that is
	// another one: artifacts of other tools have titles of their own. It is empty
	// where it is Filename, and it is for looking up only, never for a path.
	ListedAs string
	// Digest is the SHA-256 of the archive. Its hex is at once the line in
	// SHA256SUMS, the OCI blob's digest and the lock file's zh: hash.
	Digest digest.Digest
	// Size is the archive's length in bytes, -1 when it is not known yet.
	Size int64
	// H1 is the lock file's "h1:…" hash of the archive's contents, empty when
	// it is not known.
	H1 string
	// Documents are about this package alone.
	Documents []Document
	// Locator tells the Source that made this value where the bytes are. Only
	// that Source reads it.
	Locator any
}

// Release is a version of a provider with all of its packages, or with those
// that were asked for.
type Release struct {
	Address Address
	Version Version
	// Packages are sorted by platform, one each.
	Packages []Package
	// Protocols are the plugin protocol versions, such as "5.0", as the origin
	// states them; empty when unknown.
	Protocols []string
	// Published is when the origin says that the version was published, in UTC
	// and whole seconds; zero when unknown. It is never from a clock of ours, and
	// an origin can state any date: it is no proof.
	Published time.Time
	// Documents are about the release: SHA256SUMS, its signature, keys.
	Documents []Document
	// Stored says in which OCI repository it lies; the zero value where it comes
	// from elsewhere, or from several.
	Stored Stored
	// Locator tells the Source that made this value where it lies. Only that
	// Source reads it.
	Locator any
}

// Stored is the place of a release in OCI repositories.
type Stored struct {
	// Repository is as people write it: "ghcr.io/acme/null", "oci-layout:mirror/null".
	Repository string
	Tag        string
	// Digest is that of the index.
	Digest digest.Digest
}

// Document returns the release's first document of a kind.
func (r Release) Document(kind DocumentKind) (Document, bool) {
	for _, d := range r.Documents {
		if d.Kind == kind {
			return d, true
		}
	}
	return Document{}, false
}

// Package returns the package for a platform. Errors are *[PlatformError].
func (r Release) Package(p Platform) (Package, error) {
	i := slices.IndexFunc(r.Packages, func(pkg Package) bool { return pkg.Platform == p })
	if i < 0 {
		return Package{}, &PlatformError{Address: r.Address, Version: r.Version, Wanted: p, Have: r.Platforms()}
	}
	return r.Packages[i], nil
}

// Platforms lists the platforms of the release's packages.
func (r Release) Platforms() []Platform {
	ps := make([]Platform, len(r.Packages))
	for i, p := range r.Packages {
		ps[i] = p.Platform
	}
	return ps
}
