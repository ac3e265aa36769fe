// Package artifact is the OCI form of a provider release, as OpenTofu's
// oci_mirror reads it: an image index under the version's tag, one image
// manifest a platform, the zip and the evidence about it as layers. It is the
// only package that knows media types, tags and annotations, and it does no I/O.
//
// Use it to make or read manifests when you move the bytes yourself; packages
// repository and publish move them for you.
//
// docs/format.md describes the format for readers in other languages.
package artifact

// Artifact types, from OpenTofu's OCI registries documentation.
const (
	// TypeProvider marks the index of a provider release.
	TypeProvider = "application/vnd.opentofu.provider"
	// TypeTarget marks the manifest of one platform's package, and its
	// descriptor in the index.
	TypeTarget = "application/vnd.opentofu.provider-target"
	// typeModule marks a module package.
	typeModule = "application/vnd.opentofu.modulepkg"
)

// Media types of layers.
const (
	MediaTypeZip       = "archive/zip"
	MediaTypeSums      = "text/plain+sha256sum"
	MediaTypeSignature = "application/pgp-signature"
	MediaTypeKeys      = "application/pgp-keys"
	// MediaTypeSPDX and MediaTypeCycloneDX are the formats of SBOMs.
	MediaTypeSPDX      = "application/spdx+json"
	MediaTypeCycloneDX = "application/vnd.cyclonedx+json"
	// MediaTypeInToto is the format of provenance.
	MediaTypeInToto = "application/vnd.in-toto+json"
	// MediaTypeSigstore is that of Sigstore bundles, which cosign and GitHub's
	// attestations write.
	MediaTypeSigstore = "application/vnd.dev.sigstore.bundle.v0.3+json"
)

// Annotation keys of our own.
const (
	annotationPrefix = "io.github.tofu-oci."
	// annotationZH is on a descriptor in the index: "zh:" and the zip's SHA-256.
	annotationZH = annotationPrefix + "zh"
	// annotationH1 is on a descriptor in the index: the zip's "h1:" hash.
	annotationH1 = annotationPrefix + "h1"
	// AnnotationProvider is on the index: the provider's address in ASCII.
	AnnotationProvider = annotationPrefix + "provider"
	// annotationProtocols is on the index: plugin protocol versions, separated
	// by commas.
	annotationProtocols = annotationPrefix + "protocols"
)

const (
	// MaxManifestSize bounds indexes and manifests, in bytes, as OpenTofu does.
	MaxManifestSize = 4 << 20
	// MaxZipSize bounds a zip, in bytes. The largest providers are under 300 MiB.
	MaxZipSize = 4 << 30
	// maxValues bounds the JSON values of an index or manifest. A platform takes a
	// dozen in an index, and a referrer six in a list of them.
	maxValues = 16 << 10
	// maxTargets bounds the platforms of an index; Go knows some fifty.
	maxTargets = 256
	// maxLayers bounds the layers of a manifest.
	maxLayers = 64
	// MaxDocumentSize bounds each document beside a zip, in bytes. The
	// largest SHA256SUMS and key rings seen are a few kilobytes; SBOMs reach a
	// few megabytes.
	MaxDocumentSize = 32 << 20
)
