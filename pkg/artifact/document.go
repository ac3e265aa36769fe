package artifact

import (
	"encoding/json"
	"fmt"
	"strings"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/tofu-oci/tofu-oci/internal/bounded"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// NewDocument returns a document with the given content. It determines the kind and the
// scope from the media type and the name, because signatures of SHA256SUMS and of zips
// have the same media type.
func NewDocument(name, mediaType string, content []byte) provider.Document {
	d := provider.Document{Name: name, MediaType: mediaType}.WithBytes(content)
	d.Kind, d.Scope = classify(mediaType, name)
	return d
}

// DocumentOf returns the document in a layer, with neither Bytes nor Content. If the
// layer has no valid title, DocumentOf uses the name sumsName, because the layer is
// usually SHA256SUMS.
func DocumentOf(layer ocispec.Descriptor, sumsName string) provider.Document {
	name := layer.Annotations[ocispec.AnnotationTitle]
	if provider.CheckFilename(name) != nil {
		name = sumsName
	}
	d := provider.Document{Name: name, MediaType: layer.MediaType, Digest: layer.Digest, Size: layer.Size}
	d.Kind, d.Scope = classify(layer.MediaType, name)
	return d
}

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

// scopeOfSigned returns the scope of a signature or Sigstore bundle. The scope is the
// release if the document's name contains SHA256SUMS, and the package otherwise.
func scopeOfSigned(name string) provider.Scope {
	if strings.Contains(name, "SHA256SUMS") {
		return provider.ScopeRelease
	}
	return provider.ScopePackage
}

// spdxContext is the prefix of the @context of SPDX 3 documents. See
// https://spdx.github.io/spdx-spec/v3.0.1/serializations/.
const spdxContext = "https://spdx.org/"

// DocumentType determines the media type of a JSON document from its content. kind must
// be [provider.KindSBOM] or [provider.KindSigstore]. name is used only in errors.
// DocumentType returns an error for Sigstore bundles older than version 0.3, because
// their media types are not valid for layers.
func DocumentType(kind provider.DocumentKind, name string, data []byte) (mediaType string, err error) {
	var document struct {
		SPDX      string          `json:"spdxVersion"`
		Format    string          `json:"bomFormat"`
		Context   json.RawMessage `json:"@context"`
		MediaType string          `json:"mediaType"`
	}
	if err := json.Unmarshal(data, &document); err != nil {
		return "", fmt.Errorf("%s is not a JSON document: %w", name, bounded.JSONError(err))
	}
	var context string
	_ = json.Unmarshal(document.Context, &context) // in SPDX, @context is a string
	switch {
	case kind == provider.KindSigstore && document.MediaType != MediaTypeSigstore:
		return "", fmt.Errorf("%s is not a Sigstore bundle of version 0.3: its media type is %q, want %s", name, clip(document.MediaType), MediaTypeSigstore)
	case kind == provider.KindSigstore:
		return MediaTypeSigstore, nil
	case document.SPDX != "", strings.HasPrefix(context, spdxContext): // SPDX 2, SPDX 3
		return MediaTypeSPDX, nil
	case document.Format == "CycloneDX":
		return MediaTypeCycloneDX, nil
	}
	return "", fmt.Errorf("%s is neither an SPDX nor a CycloneDX document", name)
}
