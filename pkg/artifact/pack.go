package artifact

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/opencontainers/go-digest"
	"github.com/opencontainers/image-spec/specs-go"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// Options configures the metadata of a release artifact.
type Options struct {
	// SourceURL is the URL of the source code of the provider or the mirror. It becomes
	// the annotation org.opencontainers.image.source of the index and of each manifest.
	// GHCR uses this annotation to link packages to repositories. If empty, the
	// annotation is omitted.
	SourceURL string
	// Provider is the ASCII address in the index's provider annotation. If empty, the
	// address of the release is used. A release that extends another provider's release
	// keeps the address of that provider. See [provider.Alias].
	Provider string
	// Annotations contains additional annotations of the index, or of a module's
	// manifest. For an index, annotations that the format defines are ignored. The date
	// of the release overrides the date annotation.
	Annotations map[string]string
	// Generic makes all manifests generic. See [Generic].
	Generic bool
}

// Annotate adds an annotation. It returns an error if the format reserves the key.
func (o *Options) Annotate(key, value string) error {
	if isReserved(key) {
		return fmt.Errorf("the annotation %s is reserved by the artifact format", key)
	}
	if o.Annotations == nil {
		o.Annotations = map[string]string{}
	}
	o.Annotations[key] = value
	return nil
}

// isReserved reports whether the format defines an annotation of the index with this
// key. The key of the source annotation is not reserved, but SourceURL overrides the
// annotation.
func isReserved(key string) bool {
	return key == ocispec.AnnotationVersion || strings.HasPrefix(key, annotationPrefix)
}

// Blob is content in memory, with its descriptor.
type Blob struct {
	Descriptor ocispec.Descriptor
	Bytes      []byte
}

// Packed is the artifact of a release without the zips. Push the zips and Documents
// first, then Manifests, and then Index.
type Packed struct {
	// Documents contains the empty config, which all manifests share, and then all
	// other blobs without duplicates, sorted by digest.
	Documents []provider.Document
	// Manifests contains the manifests, sorted by platform.
	Manifests []Blob
	Index     Blob
}

// Pack builds the artifact of a release. All packages must have a size. Identical input
// results in identical bytes, because everything is sorted and nothing depends on the
// clock or the machine. For a module, the Index of the result is the manifest.
func Pack(r provider.Release, o Options) (Packed, error) {
	if len(r.Packages) == 0 {
		return Packed{}, fmt.Errorf("packing %s %s: no packages", r.Address, r.Version)
	}
	if r.Address.IsModule() {
		return packModule(r, o)
	}
	var packed Packed
	documents := map[digest.Digest]provider.Document{}
	index := ocispec.Index{
		Versioned:    specs.Versioned{SchemaVersion: 2},
		MediaType:    ocispec.MediaTypeImageIndex,
		ArtifactType: TypeProvider,
		Annotations:  map[string]string{},
	}
	packages := slices.SortedFunc(slices.Values(r.Packages), func(a, b provider.Package) int { return a.Platform.Compare(b.Platform) })
	for i, p := range packages {
		if i > 0 && packages[i-1].Platform == p.Platform {
			return Packed{}, fmt.Errorf("packing %s %s: more than one package for %s", r.Address, r.Version, p.Platform)
		}
		manifest, err := packManifest(p, r.Documents, o, documents)
		if err == nil && o.Generic {
			manifest, err = Generic(manifest)
		}
		if err != nil {
			return Packed{}, fmt.Errorf("packing %s %s for %s: %w", r.Address, r.Version, p.Platform, err)
		}
		packed.Manifests = append(packed.Manifests, manifest)
		index.Manifests = append(index.Manifests, targetDescriptor(p, manifest.Descriptor))
	}
	packed.Documents = withConfig(documents)
	maps.Copy(index.Annotations, o.Annotations)
	maps.DeleteFunc(index.Annotations, func(key, _ string) bool { return isReserved(key) })
	index.Annotations[ocispec.AnnotationVersion] = r.Version.String()
	index.Annotations[AnnotationProvider] = cmp.Or(o.Provider, r.Address.ASCII())
	if o.SourceURL != "" {
		index.Annotations[ocispec.AnnotationSource] = o.SourceURL
	}
	if published := provider.CleanDate(r.Published); !published.IsZero() {
		index.Annotations[ocispec.AnnotationCreated] = published.Format(time.RFC3339)
	}
	if len(r.Protocols) > 0 {
		index.Annotations[annotationProtocols] = strings.Join(r.Protocols, ",")
	}
	var err error
	if packed.Index, err = marshal(index, ocispec.MediaTypeImageIndex, TypeProvider); err != nil {
		return Packed{}, fmt.Errorf("packing %s %s: %w", r.Address, r.Version, err)
	}
	return packed, nil
}

// EmptyIndex returns an index without packages. If a registry doesn't delete tags, the
// tag of a denied version points to this index, so OpenTofu finds no package to
// install.
func EmptyIndex(a provider.Address, v provider.Version) (Blob, error) {
	return marshal(ocispec.Index{
		Versioned:    specs.Versioned{SchemaVersion: 2},
		MediaType:    ocispec.MediaTypeImageIndex,
		ArtifactType: TypeProvider,
		Manifests:    []ocispec.Descriptor{},
		Annotations:  map[string]string{ocispec.AnnotationVersion: v.String(), AnnotationProvider: a.ASCII()},
	}, ocispec.MediaTypeImageIndex, TypeProvider)
}

// withConfig returns the empty config, followed by the documents sorted by digest.
func withConfig(documents map[digest.Digest]provider.Document) []provider.Document {
	return append([]provider.Document{emptyConfig()}, slices.SortedFunc(maps.Values(documents), func(a, b provider.Document) int {
		return strings.Compare(string(a.Digest), string(b.Digest))
	})...)
}

// emptyConfig returns the empty config that image-spec defines for manifests that need
// no config.
func emptyConfig() provider.Document {
	return provider.Document{Name: "the config", MediaType: ocispec.MediaTypeEmptyJSON}.WithBytes(ocispec.DescriptorEmptyJSON.Data)
}

// packManifest builds the manifest of a package and adds the documents in its layers to
// documents.
func packManifest(p provider.Package, shared []provider.Document, o Options, documents map[digest.Digest]provider.Document) (Blob, error) {
	zip, err := zipDescriptor(p)
	if err != nil {
		return Blob{}, err
	}
	var annotations map[string]string
	if o.SourceURL != "" {
		annotations = map[string]string{ocispec.AnnotationSource: o.SourceURL}
	}
	return packLayers(TypeTarget, zip, slices.Concat(sortedDocuments(p.Documents), sortedDocuments(shared)), annotations, documents)
}

// packLayers builds a manifest whose layers are a zip and documents, and adds the
// documents to all.
func packLayers(artifactType string, zip ocispec.Descriptor, layers []provider.Document, annotations map[string]string, all map[digest.Digest]provider.Document) (Blob, error) {
	manifest := ocispec.Manifest{
		Versioned:    specs.Versioned{SchemaVersion: 2},
		MediaType:    ocispec.MediaTypeImageManifest,
		ArtifactType: artifactType,
		Config:       ocispec.DescriptorEmptyJSON,
		Layers:       []ocispec.Descriptor{zip},
		Annotations:  annotations,
	}
	sumsLayers := 0
	for _, document := range layers {
		if document.Kind == provider.KindSums {
			sumsLayers++
		}
		if err := checkDocument(document); err != nil {
			return Blob{}, err
		}
		all[document.Digest] = document
		manifest.Layers = append(manifest.Layers, ocispec.Descriptor{
			MediaType: document.MediaType, Digest: document.Digest, Size: document.Size,
			Annotations: map[string]string{ocispec.AnnotationTitle: document.Name},
		})
	}
	if sumsLayers > 1 {
		return Blob{}, fmt.Errorf("%d documents of type %s; a manifest can have only one", sumsLayers, MediaTypeSums)
	}
	return marshal(manifest, ocispec.MediaTypeImageManifest, artifactType)
}

// layerOrder is the order of documents in a manifest. MediaTypeSignature appears only
// once, because the documents of a package and of the release are sorted separately.
var layerOrder = []string{MediaTypeSums, MediaTypeSignature, MediaTypeKeys, MediaTypeSPDX, MediaTypeCycloneDX, MediaTypeInToto, MediaTypeSigstore}

// sortedDocuments returns documents in the order of layers: by media type, then by name.
func sortedDocuments(documents []provider.Document) []provider.Document {
	rank := func(d provider.Document) int {
		if i := slices.Index(layerOrder, d.MediaType); i >= 0 {
			return i
		}
		return len(layerOrder)
	}
	return slices.SortedStableFunc(slices.Values(documents), func(a, b provider.Document) int {
		return cmp.Or(cmp.Compare(rank(a), rank(b)), cmp.Compare(a.Name, b.Name))
	})
}

// checkDocument returns an error for a document that can't be stored or can't be read
// back.
func checkDocument(d provider.Document) error {
	if err := provider.CheckFilename(d.Name); err != nil {
		return err
	}
	if d.Bytes == nil && d.Content == nil {
		return provider.Errorf(provider.Refused, "opening document %s: no content", d.Name)
	}
	if d.Size > MaxDocumentSize {
		return fmt.Errorf("%s exceeds %d bytes", d.Name, MaxDocumentSize)
	}
	if !isSHA256(d.Digest) {
		return fmt.Errorf("%s: invalid digest %q: want sha256", d.Name, d.Digest)
	}
	return nil
}

func zipDescriptor(p provider.Package) (ocispec.Descriptor, error) {
	if err := provider.CheckFilename(title(p)); err != nil {
		return ocispec.Descriptor{}, err
	}
	if !isSHA256(p.Digest) {
		return ocispec.Descriptor{}, fmt.Errorf("%s: invalid digest %q: want sha256", p.Filename, p.Digest)
	}
	if p.Size < 0 {
		return ocispec.Descriptor{}, fmt.Errorf("the size of %s is unknown", p.Filename)
	}
	return ZipDescriptor(p), nil
}

// ZipDescriptor returns the descriptor of a package's zip as it appears in the manifest.
func ZipDescriptor(p provider.Package) ocispec.Descriptor {
	return ocispec.Descriptor{
		MediaType:   MediaTypeZip,
		Digest:      p.Digest,
		Size:        p.Size,
		Annotations: map[string]string{ocispec.AnnotationTitle: title(p)},
	}
}

// title returns the name of the zip in SHA256SUMS.
func title(p provider.Package) string { return cmp.Or(p.ListedAs, p.Filename) }

// targetDescriptor returns the descriptor of a manifest in the index. It contains the
// artifact type and the platform, because OpenTofu uses both to select manifests.
func targetDescriptor(p provider.Package, manifest ocispec.Descriptor) ocispec.Descriptor {
	manifest.Platform = &ocispec.Platform{OS: p.Platform.OS, Architecture: p.Platform.Arch}
	manifest.Annotations = map[string]string{annotationZH: "zh:" + p.Digest.Encoded()}
	if p.H1 != "" {
		manifest.Annotations[annotationH1] = p.H1
	}
	if p.H1Unpacked != "" {
		manifest.Annotations[annotationH1Unpacked] = p.H1Unpacked
	}
	return manifest
}

// Referrer is a document in a separate manifest whose subject is the index of a release
// or the manifest of a package.
type Referrer struct {
	// Manifest refers to Config, Document, and More, which must be pushed first. More
	// contains the documents in additional layers.
	Manifest         Blob
	Config, Document provider.Document
	More             []provider.Document
	// Entry is the descriptor of the manifest in a referrers list.
	Entry ocispec.Descriptor
}

// PackReferrer builds a referrer for a document about the index. Identical input results in
// identical bytes, so attaching a document again has no effect.
func PackReferrer(document provider.Document, index ocispec.Descriptor) (Referrer, error) {
	return packDocuments(document, index, nil)
}

// packDocuments builds a referrer whose layers are a document and more documents. The
// manifest has the document's name and the given annotations.
func packDocuments(document provider.Document, index ocispec.Descriptor, annotations map[string]string, more ...provider.Document) (Referrer, error) {
	var layers []ocispec.Descriptor
	for _, d := range append([]provider.Document{document}, more...) {
		if err := checkDocument(d); err != nil {
			return Referrer{}, err
		}
		layers = append(layers, ocispec.Descriptor{
			MediaType: d.MediaType, Digest: d.Digest, Size: d.Size, Annotations: map[string]string{ocispec.AnnotationTitle: d.Name},
		})
	}
	all := maps.Clone(layers[0].Annotations)
	maps.Copy(all, annotations)
	r, err := packReferrer(document, index, ocispec.DescriptorEmptyJSON, layers, all)
	r.More = more
	return r, err
}

// packReferrer builds a referrer with the artifact type of a document.
func packReferrer(document provider.Document, subject, config ocispec.Descriptor, layers []ocispec.Descriptor, annotations map[string]string) (Referrer, error) {
	manifest, err := marshal(ocispec.Manifest{
		Versioned:    specs.Versioned{SchemaVersion: 2},
		MediaType:    ocispec.MediaTypeImageManifest,
		ArtifactType: document.MediaType,
		Config:       config,
		Layers:       layers,
		Subject:      &ocispec.Descriptor{MediaType: subject.MediaType, Digest: subject.Digest, Size: subject.Size},
		Annotations:  annotations,
	}, ocispec.MediaTypeImageManifest, document.MediaType)
	if err != nil {
		return Referrer{}, err
	}
	entry := manifest.Descriptor
	entry.Annotations = annotations
	return Referrer{Manifest: manifest, Config: emptyConfig(), Document: document, Entry: entry}, nil
}

// Documents returns the content that must be pushed before the manifest.
func (r Referrer) Documents() []provider.Document {
	return append([]provider.Document{r.Config, r.Document}, r.More...)
}

func marshal(v any, mediaType, artifactType string) (Blob, error) {
	data, err := json.Marshal(v)
	if err != nil {
		return Blob{}, err
	}
	if len(data) > MaxManifestSize {
		return Blob{}, fmt.Errorf("%s is %d bytes long; OpenTofu reads at most %d", mediaType, len(data), MaxManifestSize)
	}
	return Blob{ocispec.Descriptor{
		MediaType: mediaType, ArtifactType: artifactType,
		Digest: digest.FromBytes(data), Size: int64(len(data)),
	}, data}, nil
}
