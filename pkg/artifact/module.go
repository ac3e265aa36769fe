package artifact

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// packModule builds the artifact of a module, without its zip. The manifest is the Index
// of the result, and the result has no Manifests.
func packModule(r provider.Release, o Options) (Packed, error) {
	fail := func(err error) (Packed, error) {
		return Packed{}, fmt.Errorf("packing %s %s: %w", r.Address, r.Version, err)
	}
	if len(r.Packages) > 1 {
		return fail(errors.New("a module has only one package"))
	}
	p := r.Packages[0]
	zip, err := zipDescriptor(p)
	if err != nil {
		return fail(err)
	}
	annotations := map[string]string{}
	maps.Copy(annotations, o.Annotations)
	annotations[ocispec.AnnotationVersion] = r.Version.String()
	if o.SourceURL != "" {
		annotations[ocispec.AnnotationSource] = o.SourceURL
	}
	documents := map[digest.Digest]provider.Document{}
	manifest, err := packLayers(TypeModule, zip, sortedDocuments(slices.Concat(p.Documents, r.Documents)), annotations, documents)
	if err == nil && o.Generic {
		manifest, err = Generic(manifest)
	}
	if err != nil {
		return fail(err)
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
