// Package lockfile reads and writes dependency lock files, .terraform.lock.hcl, as
// OpenTofu does, without using the network.
//
// It accepts the same files as OpenTofu, except files with loops in expressions, and
// reports the line and column of errors. Whereas OpenTofu drops all unknown content
// when it writes a file, a [File] preserves comments, module blocks, and unchanged
// provider blocks byte for byte. Changed blocks have the same form as in OpenTofu, so
// OpenTofu's next run doesn't change them.
//
// See https://opentofu.org/docs/language/files/dependency-lock/.
package lockfile
