package artifact

import (
	"strings"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// NewDocument makes a document of its content. Media type and name tell kind and
// scope: signatures of SHA256SUMS and of a zip have the same type.
func NewDocument(name, mediaType string, content []byte) provider.Document {
	d := provider.Document{Name: name, MediaType: mediaType}.WithBytes(content)
	d.Kind, d.Scope = classify(mediaType, name)
	return d
}

// DocumentOf describes the document that a layer is; the caller adds its
// content. sumsName is what a SHA256SUMS layer without a title is called.
func DocumentOf(layer ocispec.Descriptor, sumsName string) provider.Document {
	name := layer.Annotations[ocispec.AnnotationTitle]
	if provider.CheckFilename(name) != nil {
		name = sumsName
	}
	d := provider.Document{Name: name, MediaType: layer.MediaType, Digest: layer.Digest, Size: layer.Size}
	d.Kind, d.Scope = classify(layer.MediaType, name)
	return d
}

// classify tells what a document is and what it is about.
func classify(mediaType, name string) (provider.DocumentKind, provider.Scope) {
	switch mediaType {
	case MediaTypeSums:
		return provider.KindSums, provider.ScopeRelease
	case MediaTypeKeys:
		return provider.KindKeys, provider.ScopeRelease
	case MediaTypeSignature:
		return provider.KindSignature, scopeOfSigned(name)
	case MediaTypeSigstore:
		return provider.KindSigstore, scopeOfSigned(name)
	case MediaTypeSPDX, MediaTypeCycloneDX:
		return provider.KindSBOM, provider.ScopePackage
	case MediaTypeInToto:
		return provider.KindProvenance, provider.ScopePackage
	}
	return provider.KindOther, provider.ScopePackage
}

// scopeOfSigned tells signatures of SHA256SUMS from those of a zip.
func scopeOfSigned(name string) provider.Scope {
	if strings.Contains(name, "SHA256SUMS") {
		return provider.ScopeRelease
	}
	return provider.ScopePackage
}
