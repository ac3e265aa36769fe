// Package lock creates and checks lock files. It determines the hashes of a release,
// usually without downloading its zips, and writes lock files with hashes for all
// platforms. It also checks whether locked providers can be installed, and restricts
// sources to locked packages.
//
//	lock   = any source → hashes → .terraform.lock.hcl
//	mirror = NewSource(origin registry, selections) → …
//	pull   = NewSource(any source, selections)      → …
//
// Package lockfile implements the file format.
package lock
