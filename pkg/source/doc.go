// Package source has the places that releases come from: [Registry] is origin
// registries, [OCI] is OCI repositories, [Dir] is what a build left on disk. All
// are a [provider.Source], and all have compared a release's zips with its
// SHA256SUMS by the time they describe it.
package source
