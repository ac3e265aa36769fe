// Package exec runs programs that install providers (any version of OpenTofu,
// Terraform, or Terragrunt), and supplies them with providers from OCI repositories:
//
//	exec = lock file → store → CLI configuration → the child
//
// It fetches the packages that lock files select into a store. It rejects packages that
// don't match the hashes in the lock files, because the programs themselves don't
// compare unpacked packages with zh: hashes. A mirror directory in the store contains
// links to the packages, and a temporary CLI configuration makes the child use this
// directory.
//
// To fill a directory permanently, use package pull.
package exec
