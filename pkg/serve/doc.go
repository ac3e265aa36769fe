// Package serve answers clients that know no OCI: an http.Handler over the OCI
// repositories that mirror and publish fill. It speaks two protocols, the network
// mirror's and the provider registry's, and serves the archives that both name.
//
// Use it to let Terraform, older OpenTofu, IDEs and Terragrunt install what lies in
// a registry or an image layout. It keeps nothing but what it may forget, so any
// number of servers may stand beside each other.
//
// A request takes one way: [Server] ServeHTTP finds the route, the route says which
// provider is requested, the gate identifies the caller, the knowledge finds the release in
// the repositories and checks the caller's right to the address that it is stored as, and
// one function per route writes the response.
//
//	/mirror/HOST/NAMESPACE/TYPE/index.json, VERSION.json
//	/.well-known/terraform.json
//	/v1/providers/NAMESPACE/TYPE/versions, VERSION/download/OS/ARCH
//	/v1/documents/TOKEN/HOST/NAMESPACE/TYPE/VERSION/FILENAME/SHA256SUMS, SHA256SUMS.sig
//	/archive/TOKEN/HOST/NAMESPACE/TYPE/VERSION/FILENAME, WHY/FILENAME
//	/api/v1/providers, /api/v1/providers/HOST/NAMESPACE/TYPE, …/VERSION
//	/api/v1/providers/HOST/NAMESPACE/TYPE/VERSION/documents/DIGEST, components/DIGEST
//	/, /providers/HOST/NAMESPACE/TYPE, …/VERSION, …/VERSION/components/DIGEST
//	/static/HASH/FILE, /login
//	/healthz, /readyz
//
// What the repositories lack may come from its origin, see [Options] PullThrough: lists
// and descriptions from its documents, archives by mirroring the release. WHY in the
// link of an archive says that it cannot be had, and why: it is all that clients print.
//
// https://opentofu.org/docs/internals/provider-network-mirror-protocol/,
// https://opentofu.org/docs/internals/provider-registry-protocol/
package serve
