// Package lockfile reads and writes dependency lock files, .terraform.lock.hcl, as
// OpenTofu does, without using the network.
//
// It accepts the same files as OpenTofu, except files with loops in expressions, and
// reports the line and column of errors. OpenTofu drops all unknown content when it
// writes a file, but a [File] preserves comments, module blocks, and unchanged provider
// blocks byte for byte. Apart from their comments, changed blocks are written exactly as
// OpenTofu would write them, so the next run of OpenTofu doesn't change them.
//
// See https://opentofu.org/docs/language/files/dependency-lock/.
package lockfile
