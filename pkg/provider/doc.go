// Package provider holds the nouns of the field and no I/O. Everything else in
// the module depends on it and it depends on nothing else in the module.
//
// Use it to read addresses, versions, constraints and platforms that people
// write, and to implement a [Source] of your own for packages mirror, publish
// and pull.
//
// # Glossary
//
//   - address: who a provider is, host/namespace/type ([Address]).
//   - pattern: an address with trailing wildcards, as include and exclude lists
//     use it ([Pattern]).
//   - alias: what declares that releases which are stored as one provider's may
//     be taken for another's ([Alias]).
//   - version: a semantic version as OpenTofu reads it ([Version]); constraint:
//     what a version must meet ([Constraint]).
//   - platform: operating system and architecture, linux_amd64 ([Platform]).
//   - package: one zip archive, a provider of one version for one platform
//     ([Package]).
//   - release: all packages of a version, with the evidence about them
//     ([Release]).
//   - document: a small file that travels with a release or a package, such as
//     SHA256SUMS, a signature or an SBOM ([Document]); evidence is all of them.
//   - verdict: what the signature of a release proves, and about whose key
//     ([Verdict]).
//   - source: where releases come from ([Source]); sink: where they go.
//   - selection: the version of a provider that a configuration goes by, with the
//     hashes that its packages may have; lock file: the selections of one
//     configuration, .terraform.lock.hcl (package lockfile).
//   - origin registry: a registry that speaks the provider registry protocol.
//   - repository, tag, index, manifest, layer, descriptor: as the OCI
//     specifications define them.
//   - repository template: text that makes an OCI repository's name of an
//     address (package template).
package provider
