// Package source has what all places have in common that releases come from. The
// places themselves are the packages below it: origin registries (origin), what a
// build left on disk (builddir), OCI repositories (oci), and what OpenTofu reads
// as a filesystem_mirror (filesystem). All are a [provider.Source], and all have
// compared a release's zips with its SHA256SUMS by the time they describe it.
//
// [Memo] keeps what another source said, and [Resolve] tells which versions a
// requirement means. Use it with the flows of packages mirror, publish and pull, or
// alone to look at releases.
package source
