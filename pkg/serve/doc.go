// Package serve makes providers in OCI repositories available to clients without OCI
// support, such as Terraform, older OpenTofu versions, IDEs, and Terragrunt. [Server] is an
// [http.Handler] for the network mirror protocol, the provider registry protocol, the
// archives that both protocols link to, an API, and web pages.
//
// The server is stateless: it only caches, so you can run any number of replicas and
// restart them at any time.
//
// ServeHTTP handles a request in this order: It finds the route and the requested provider,
// authorizes the caller, looks up the release in the repositories, and checks that the
// caller is allowed to read the address that the release is stored as. Then one method per
// route writes the response.
//
//	/mirror/HOST/NAMESPACE/TYPE/index.json, VERSION.json
//	/.well-known/terraform.json
//	/v1/providers/NAMESPACE/TYPE/versions, VERSION/download/OS/ARCH
//	/v1/documents/TOKEN/HOST/NAMESPACE/TYPE/VERSION/FILENAME/SHA256SUMS, SHA256SUMS.sig
//	/archive/TOKEN/HOST/NAMESPACE/TYPE/VERSION/FILENAME, REASON/FILENAME
//	/api/v1/providers, /api/v1/providers/HOST/NAMESPACE/TYPE, …/VERSION
//	/api/v1/providers/HOST/NAMESPACE/TYPE/VERSION/documents/DIGEST, components/DIGEST
//	/, /providers/HOST/NAMESPACE/TYPE, …/VERSION, …/VERSION/components/DIGEST
//	/static/HASH/FILE, /login
//	/healthz, /readyz
//
// With [Options] PullThrough, missing releases are pulled from their origin registries:
// version lists and metadata come from the documents of the origin, and the first request
// for an archive mirrors the release. If an archive is unavailable, its link contains the
// REASON, because clients print the link but not the response.
//
// https://opentofu.org/docs/internals/provider-network-mirror-protocol/,
// https://opentofu.org/docs/internals/provider-registry-protocol/
package serve
