// Package source contains code that all sources of releases share. The packages below
// it implement the sources: origin registries (origin), local build directories
// (builddir), OCI repositories (oci), OpenTofu's filesystem_mirror directories
// (filesystem), and network mirrors (networkmirror). All of them implement
// [provider.Source]. If a release has SHA256SUMS, they check its zips against this file
// before they return the release.
//
// [Memo] caches the responses of a source, and [Resolve] returns the versions that a
// requirement matches. Use them with packages mirror, publish, and pull, or on their
// own.
package source
