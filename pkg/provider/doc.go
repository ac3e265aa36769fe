// Package provider defines the domain types of the module: provider addresses, versions,
// platforms, packages, releases, and sources. It performs no I/O. All other packages
// depend on it.
//
// Use it to parse addresses, versions, constraints, and platforms from user input, and to
// implement a [Source] for packages mirror, publish, and pull.
//
// # Glossary
//
// Providers and releases:
//
//   - address: the identity of a provider, HOST/NAMESPACE/TYPE ([Address])
//   - pattern: an address with trailing wildcards, as in include and exclude lists
//     ([Pattern])
//   - alias: a declaration that releases of one provider can be used in place of another
//     provider's ([Alias])
//   - version: a semantic version as OpenTofu parses it ([Version])
//   - constraint: a condition on versions, such as "~> 5.0" ([Constraint])
//   - platform: an operating system and an architecture, such as linux_amd64 ([Platform])
//   - package: the zip archive of one version for one platform ([Package])
//   - release: all packages of a version, with their documents ([Release])
//   - document: a file that accompanies a release or a package ([Document])
//   - verification metadata: the checksums, signatures, and keys that are used to
//     verify packages
//   - checksums: the SHA256SUMS file of a release
//   - attestation: an SBOM or a provenance document
//   - verdict: the result of verifying the signature of a release ([Verdict])
//   - trusted key: a key that a pin, a keyring, or a policy accepts for a provider
//     (package trust)
//   - credentials: a user name and password, or a token, for a registry
//   - pending release: a staged release that has not been approved yet (package approval)
//   - denied release: a release that was rejected (package approval)
//   - check level: how thoroughly existing releases are verified
//   - repair: to restore missing or corrupt content of a release
//
// Sources and targets:
//
//   - origin registry: the registry in a provider's address, which implements the provider
//     registry protocol
//   - source: an interface for reading releases ([Source])
//   - target: the repository that a flow writes releases to
//   - sink: the directory that packages are written to (package pull)
//   - repository, tag, index, manifest, layer, blob, descriptor: as defined by the OCI
//     specifications
//   - image layout: a directory in the OCI image layout format
//   - repository template: a string with variables that maps addresses to OCI repositories
//     (package template)
//
// Lock files:
//
//   - lock file: .terraform.lock.hcl (package lockfile)
//   - selection: the version of a provider in a lock file, with its hashes
//   - hash: a checksum in a lock file, either the zh: hash of a zip or the h1: hash of
//     its contents
package provider
