// Package source contains code that all sources of releases share. The packages below
// it implement the sources: origin registries (origin), local build directories
// (builddir), OCI repositories (oci), and OpenTofu's filesystem_mirror directories
// (filesystem). All of them implement [provider.Source], and check the zips of a
// release against SHA256SUMS before they return it.
//
// [Memo] caches the responses of a source, and [Resolve] returns the versions that a
// requirement matches. Use them with packages mirror, publish, and pull, or on their
// own.
package source
