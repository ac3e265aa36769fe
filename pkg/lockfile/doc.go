// Package lockfile reads and writes .terraform.lock.hcl, the dependency lock file,
// as OpenTofu does, without the network.
//
// What OpenTofu refuses is refused here, with the line and column; what it accepts
// is accepted. Its own writing drops all that it does not know. Here a [File] keeps
// its text: comments, module blocks, and the blocks of providers that nobody
// changed stay byte for byte. What is written is in OpenTofu's own form, so that
// its next run finds nothing to change.
// https://opentofu.org/docs/language/files/dependency-lock/
package lockfile
