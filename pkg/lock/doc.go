// Package lock brings lock files and repositories together: which hashes a
// release has, without fetching its zips; lock files that hold them for every
// platform; whether what is locked is there; and a source that gives nothing but
// what is locked.
//
//	lock   = any source → hashes → .terraform.lock.hcl
//	mirror = NewSource(origin registry, selections) → …
//	pull   = NewSource(any source, selections)      → …
//
// The format of the files is package lockfile's.
package lock
