// Package source has the places that releases come from: [Registry] is origin
// registries, [OCI] is OCI repositories, [Dir] is what a build left on disk,
// [Filesystem] what OpenTofu reads as a filesystem_mirror. All are a
// [provider.Source], and all have compared a release's zips with its SHA256SUMS
// by the time they describe it. [Memo] keeps what another source said, and
// [Resolve] tells which versions a requirement means. Use it with package publish
// or pull, which bring releases somewhere, or alone to look at them.
package source

// maxDocuments is how many small documents are asked for at once.
const maxDocuments = 8
