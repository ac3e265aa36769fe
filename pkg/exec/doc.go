// Package exec lets a program that installs providers find them in a directory, so
// that OpenTofu of any version, Terraform, and what calls them, install what lies in
// OCI repositories:
//
//	exec = lock file → store → CLI configuration → the child
//
// The packages that lock files select are brought into a store, held against the
// hashes of the lock files: the programs themselves hold no unpacked package against
// a zh hash. A mirror of the store links to them, and a CLI configuration, which is
// the child's alone, names the mirror.
//
// Use [Run] in a program that starts others. To fill a directory for good, use
// package pull.
package exec
