// Package sums knows the checksums of provider packages and no network.
//
//   - SHA256SUMS: the document that lists the SHA-256 of every file of a
//     release ([File]). Its hex is also the OCI blob's digest.
//   - zh: the same hex as dependency lock files write it ([ZH], [ParseZH]).
//   - h1: a hash of the archive's contents, whatever the way they are packed
//     ([H1Dir], [ParseH1]).
//   - verifying reader: content that cannot be read to its end unless it is
//     what was promised ([NewReader]).
//
// Use it to check a download of your own, to read or write SHA256SUMS, or to
// compute the hashes of a lock file.
package sums
