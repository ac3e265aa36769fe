// Package artifact defines how releases are stored as OCI artifacts. A provider has one
// image index per version tag, one image manifest per platform, and the zip and its
// metadata as layers. OpenTofu's oci_mirror reads this layout. A module, which OpenTofu
// reads from an oci:// source, has one image manifest per version tag, with the zip and
// its metadata as layers. No other package defines media types, tags, or annotations.
// Package artifact performs no I/O.
//
// Use this package to build or parse manifests if you transfer the content yourself.
// Otherwise, use packages repository and publish.
//
// docs/format.md describes the format independently of Go.
package artifact

import "github.com/tofu-oci/tofu-oci/internal/sigstore"

// Artifact types, from OpenTofu's OCI registries documentation.
const (
	// TypeProvider is the artifact type of a provider release's index.
	TypeProvider = "application/vnd.opentofu.provider"
	// TypeTarget is the artifact type of a package's manifest, and of the manifest's
	// descriptor in the index.
	TypeTarget = "application/vnd.opentofu.provider-target"
	// TypeModule is the artifact type of a module package's manifest.
	TypeModule = "application/vnd.opentofu.modulepkg"
)

// Media types of layers.
const (
	MediaTypeZip       = "archive/zip"
	MediaTypeSums      = "text/plain+sha256sum"
	MediaTypeSignature = "application/pgp-signature"
	MediaTypeKeys      = "application/pgp-keys"
	// MediaTypeSPDX and MediaTypeCycloneDX are the media types of SBOMs.
	MediaTypeSPDX      = "application/spdx+json"
	MediaTypeCycloneDX = "application/vnd.cyclonedx+json"
	// MediaTypeInToto is the media type of provenance attestations.
	MediaTypeInToto = "application/vnd.in-toto+json"
	// MediaTypeSigstore is the media type of Sigstore bundles, which cosign and
	// GitHub's attestations use.
	MediaTypeSigstore = sigstore.MediaType
)

// Annotation keys that tofu-oci defines.
const (
	annotationPrefix = "io.github.tofu-oci."
	// annotationZH annotates a descriptor in the index with "zh:" and the SHA-256 of
	// the zip.
	annotationZH = annotationPrefix + "zh"
	// annotationH1 annotates a descriptor in the index with the "h1:" hash of the zip.
	annotationH1 = annotationPrefix + "h1"
	// annotationH1Unpacked annotates a descriptor in the index with the "h1:" hash of the
	// unpacked directory if it differs from the hash of the zip.
	annotationH1Unpacked = annotationPrefix + "h1-unpacked"
	// AnnotationProvider annotates the index with the ASCII address of the provider.
	AnnotationProvider = annotationPrefix + "provider"
	// annotationProtocols annotates the index with comma-separated plugin protocol
	// versions.
	annotationProtocols = annotationPrefix + "protocols"
	// AnnotationModule annotates a mirrored module package with the module's address in
	// its registry.
	AnnotationModule = annotationPrefix + "module"
	// AnnotationModuleOrigin is the location that the registry returned for the module,
	// without credentials. AnnotationModuleSubdirectory is the directory of the module
	// in the package.
	AnnotationModuleOrigin       = AnnotationModule + ".origin"
	AnnotationModuleSubdirectory = AnnotationModule + ".subdirectory"
)

const (
	// MaxManifestSize is the maximum size of an index or a manifest in bytes. OpenTofu
	// has the same limit.
	MaxManifestSize = 4 << 20
	// MaxZipSize is the maximum size of a zip in bytes. The largest providers are under
	// 300 MiB.
	MaxZipSize = 4 << 30
	// maxValues is the maximum number of JSON values in an index or a manifest. Each
	// platform uses about 12 values in an index. Each referrer uses 6 values in a
	// referrers list.
	maxValues = 16 << 10
	// maxTargets is the maximum number of platforms in an index. Go supports about 50
	// platforms.
	maxTargets = 256
	// maxLayers is the maximum number of layers in a manifest.
	maxLayers = 64
	// MaxDocumentSize is the maximum size of a document in bytes. The largest known
	// SHA256SUMS files and keyrings are a few kilobytes, and SBOMs are a few megabytes.
	MaxDocumentSize = 32 << 20
)
