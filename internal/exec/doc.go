// Package exec runs programs that install providers (any version of OpenTofu,
// Terraform, or Terragrunt), and supplies them with providers from OCI repositories:
//
//	exec = lock file → store → CLI configuration → the child
//
// The package fetches the zips that lock files select into a store. It rejects zips
// that don't match the hashes in the lock files. A mirror directory in the store
// contains links to the zips, and a temporary CLI configuration makes the child use
// this directory. The directory contains no unpacked packages, because the child would
// create links to them, and other programs could then write into the store. Before tofu
// init and terraform init, unpacked packages are copied from the store to the data
// directory, so the child unpacks nothing.
//
// To fill a directory permanently, use package pull.
package exec
