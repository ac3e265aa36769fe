// Package serve makes providers and modules in OCI repositories available to clients
// without OCI support, such as Terraform, older OpenTofu versions, IDEs, and
// Terragrunt. [Server] is an [http.Handler] for the network mirror protocol, the
// provider and module registry protocols, the archives that these protocols link to, an
// API, and web pages.
//
// The server only caches data and is otherwise stateless. You can run any number of
// replicas and restart them at any time.
//
// To handle a request, ServeHTTP finds the route and the requested provider, authorizes
// the caller, and looks up the release in the repositories. It then checks the caller's
// access to the address under which the release is stored. Finally, the route's method
// writes the response.
//
//	/mirror/HOST/NAMESPACE/TYPE/index.json, VERSION.json
//	/.well-known/terraform.json
//	/v1/providers/NAMESPACE/TYPE/versions, VERSION/download/OS/ARCH
//	/v1/documents/TOKEN/HOST/NAMESPACE/TYPE/VERSION/FILENAME/SHA256SUMS, SHA256SUMS.sig
//	/archive/TOKEN/HOST/NAMESPACE/TYPE/VERSION/FILENAME, REASON/FILENAME
//	/v1/modules/[HOST/]NAMESPACE/NAME/SYSTEM/versions, VERSION/download
//	/module-archive/TOKEN/HOST/NAMESPACE/NAME/SYSTEM/VERSION/FILENAME
//	/api/v1/providers, /api/v1/providers/HOST/NAMESPACE/TYPE, …/VERSION
//	/api/v1/providers/HOST/NAMESPACE/TYPE/VERSION/documents/DIGEST
//	/api/v1/modules, /api/v1/modules/HOST/NAMESPACE/NAME/SYSTEM
//	/modules, /modules/HOST/NAMESPACE/NAME/SYSTEM
//	/, /providers/HOST/NAMESPACE/TYPE, …/VERSION
//	/static/HASH/FILE, /login
//	/healthz, /readyz
//
// If PullThrough is set in [Options], missing releases are pulled from their origin
// registries. Version lists and metadata come from the origin's documents, and the
// first request for an archive mirrors the release. If an archive is unavailable, its
// link contains the REASON, because clients print the link but not the response.
//
// See https://opentofu.org/docs/internals/provider-network-mirror-protocol/,
// https://opentofu.org/docs/internals/provider-registry-protocol/, and
// https://opentofu.org/docs/internals/module-registry-protocol/.
package serve
