// Package lockfile reads and writes dependency lock files, .terraform.lock.hcl, as
// OpenTofu does. It does not use the network.
//
// It accepts the same files as OpenTofu, except files with loops in expressions, and
// reports the line and column of errors. When OpenTofu writes a file, it drops all
// unknown content. In contrast, a [File] preserves comments, module blocks, and
// unchanged provider blocks byte for byte. Changed blocks have the same form as in
// OpenTofu, so OpenTofu's next run doesn't change them.
//
// See https://opentofu.org/docs/language/files/dependency-lock/.
package lockfile
