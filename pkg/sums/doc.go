// Package sums implements checksums for provider packages, without using the network.
//
//   - SHA256SUMS: the document that lists the SHA-256 checksum of every file in a
//     release ([File]). The checksum is also the digest of the OCI blob.
//   - zh: the same checksum in the format of lock files ([ZH], [ParseZH]).
//   - h1: a hash of an archive's contents, independent of how the contents are packed
//     ([H1Dir], [ParseH1]).
//   - verifying reader: a reader that returns an error before the last byte if the content
//     doesn't match its digest ([NewReader]).
//
// Use this package to verify downloads, to read or write SHA256SUMS, or to compute the
// hashes for a lock file.
package sums
