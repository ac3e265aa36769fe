package artifact

import (
	"errors"
	"fmt"
	"maps"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// Module is a module package to be stored.
type Module struct {
	// Zip is the package. Its ListedAs or Filename is the title of the layer. Its
	// Digest, Size, Version, and Documents are required.
	Zip provider.Package
	// Annotations contains the annotations of the manifest. PackModule adds the
	// annotation for the version.
	Annotations map[string]string
	// Generic makes the manifest generic. See the function [Generic].
	Generic bool
}

// PackModule builds the artifact of a module package, without its zip. The manifest is
// the Index of the result, and the result has no Manifests. Identical input results in
// identical bytes.
func PackModule(m Module) (Packed, error) {
	zip, err := zipDescriptor(m.Zip)
	if err != nil {
		return Packed{}, fmt.Errorf("packing module %s: %w", m.Zip.Filename, err)
	}
	annotations := maps.Clone(m.Annotations)
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations[ocispec.AnnotationVersion] = m.Zip.Version.String()
	documents := map[digest.Digest]provider.Document{}
	manifest, err := packLayers(TypeModule, zip, sortedDocuments(m.Zip.Documents), annotations, documents)
	if err == nil && m.Generic {
		manifest, err = Generic(manifest)
	}
	if err != nil {
		return Packed{}, fmt.Errorf("packing module %s: %w", m.Zip.Filename, err)
	}
	return Packed{Documents: withConfig(documents), Index: manifest}, nil
}

// ParseModule parses the manifest of a module package. It returns errors of type
// *[FormatError].
func ParseModule(data []byte) (Manifest, error) {
	m, err := parseManifest(data, TypeModule)
	if format, ok := errors.AsType[*FormatError](err); ok {
		format.Artifact = "module package"
	}
	return m, err
}
