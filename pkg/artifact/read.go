package artifact

import (
	"slices"
	"strings"
	"time"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/tofu-oci/tofu-oci/internal/bounded"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/sums"
)

// Index is the parsed index of a release. Like OpenTofu, it ignores entries that are
// not provider packages.
type Index struct {
	// Targets contains one entry per platform, sorted by platform. It is empty if all
	// packages are for specific OS versions, which OpenTofu ignores.
	Targets     []Target
	Annotations map[string]string
}

// Target is the entry for a platform's manifest in an index.
type Target struct {
	Platform   provider.Platform
	Descriptor ocispec.Descriptor
	// Duplicate reports whether this entry is the first of several for its platform.
	// OpenTofu rejects such a platform, but accepts the platforms with a single entry.
	Duplicate bool
}

// Err returns a *[FormatError] if the platform has several entries.
func (t Target) Err() error {
	if t.Duplicate {
		return formatError("more than one manifest for %s", t.Platform)
	}
	return nil
}

// Digest returns the digest of the zip if the entry has a valid zh annotation and is
// the only entry for its platform.
func (t Target) Digest() (digest.Digest, bool) {
	d, err := sums.ParseZH(t.Descriptor.Annotations[annotationZH])
	return d, err == nil && !t.Duplicate
}

// H1 returns the h1 hash of the zip, or an empty string if the entry has no valid h1
// annotation.
func (t Target) H1() string { return t.h1(annotationH1) }

// H1Unpacked returns the h1 hash of the unpacked directory, or an empty string if the
// entry has no valid annotation. The entry has none if both hashes are equal.
func (t Target) H1Unpacked() string { return t.h1(annotationH1Unpacked) }

func (t Target) h1(annotation string) string {
	h1, err := sums.ParseH1(t.Descriptor.Annotations[annotation])
	if err != nil {
		return ""
	}
	return h1
}

// StatedZH returns the value of the zh annotation, which can be invalid.
func (t Target) StatedZH() (text string, exists bool) {
	text, exists = t.Descriptor.Annotations[annotationZH]
	return text, exists
}

// StatedH1 returns the value of the h1 annotation, which can be invalid.
func (t Target) StatedH1() (text string, exists bool) {
	text, exists = t.Descriptor.Annotations[annotationH1]
	return text, exists
}

// StatedH1Unpacked returns the value of the h1-unpacked annotation, which can be
// invalid.
func (t Target) StatedH1Unpacked() (text string, exists bool) {
	text, exists = t.Descriptor.Annotations[annotationH1Unpacked]
	return text, exists
}

// Target returns the entry for a platform.
func (x Index) Target(p provider.Platform) (Target, bool) {
	i, found := slices.BinarySearchFunc(x.Targets, p, func(t Target, p provider.Platform) int { return t.Platform.Compare(p) })
	if !found {
		return Target{}, false
	}
	return x.Targets[i], true
}

// Single returns the platforms that have exactly one entry, sorted.
func (x Index) Single() []provider.Platform {
	var ps []provider.Platform
	for _, t := range x.Targets {
		if !t.Duplicate {
			ps = append(ps, t.Platform)
		}
	}
	return ps
}

// Platforms returns the platforms of the index, sorted.
func (x Index) Platforms() []provider.Platform {
	ps := make([]provider.Platform, len(x.Targets))
	for i, t := range x.Targets {
		ps[i] = t.Platform
	}
	return ps
}

// Protocols returns the plugin protocol versions from the index's annotation.
func (x Index) Protocols() []string {
	text := x.Annotations[annotationProtocols]
	if text == "" {
		return nil
	}
	return strings.Split(text, ",")
}

// Published returns the publication date of the version, or the zero time if the index
// has no valid date. Other tools might use the annotation for the creation time of the
// index.
func (x Index) Published() time.Time {
	t, _ := time.Parse(time.RFC3339, x.Annotations[ocispec.AnnotationCreated]) // the zero time if the annotation is invalid
	return provider.CleanDate(t)
}

// document contains the fields that distinguish indexes from manifests.
type document struct {
	MediaType    string               `json:"mediaType"`
	ArtifactType string               `json:"artifactType"`
	Config       *ocispec.Descriptor  `json:"config"`
	Layers       []ocispec.Descriptor `json:"layers"`
	Manifests    []ocispec.Descriptor `json:"manifests"`
	Annotations  map[string]string    `json:"annotations"`
}

func parseDocument(data []byte) (doc document, err error) {
	err = decode(data, &doc)
	return doc, err
}

// decode parses a manifest or index of any kind. It checks the number of JSON values
// before it allocates memory for them.
func decode(data []byte, into any) error {
	if len(data) > MaxManifestSize {
		return formatError("document is %d bytes long; OpenTofu reads at most %d", len(data), MaxManifestSize)
	}
	err := bounded.DecodeJSON(data, into, maxValues)
	if err != nil {
		return formatError("invalid JSON: %v", err)
	}
	return nil
}

// ParseIndex parses the index of a release. It returns errors of type *[FormatError].
func ParseIndex(data []byte) (Index, error) {
	doc, err := parseDocument(data)
	if err != nil {
		return Index{}, err
	}
	if doc.MediaType != ocispec.MediaTypeImageIndex || doc.ArtifactType != TypeProvider {
		return Index{}, missing(IndexType, "expected an index of artifact type %s, got %s", TypeProvider, describe(doc))
	}
	index := Index{Annotations: doc.Annotations}
	packages := 0
	for _, d := range doc.Manifests {
		t, usable, err := parseTarget(d)
		if err != nil {
			return Index{}, err
		}
		if d.ArtifactType == TypeTarget {
			packages++
		}
		if usable {
			index.Targets = append(index.Targets, t)
		}
	}
	if len(index.Targets) > maxTargets {
		return Index{}, formatError("index has manifests for %d platforms; the maximum is %d", len(index.Targets), maxTargets)
	}
	if packages == 0 {
		return Index{}, missing(ManifestType, "index has no manifest of artifact type %s", TypeTarget)
	}
	index.Targets = onePerPlatform(index.Targets)
	return index, nil
}

// onePerPlatform sorts targets and keeps the first target of each platform.
func onePerPlatform(targets []Target) []Target {
	slices.SortStableFunc(targets, func(a, b Target) int { return a.Platform.Compare(b.Platform) })
	var once []Target
	for _, t := range targets {
		if last := len(once) - 1; last >= 0 && once[last].Platform == t.Platform {
			once[last].Duplicate = true
			continue
		}
		once = append(once, t)
	}
	return once
}

// parseTarget parses an entry of an index. Like OpenTofu, it ignores entries with other
// artifact types, for specific OS versions, or for unknown platforms. It rejects a
// package that is not a manifest or has no platform.
func parseTarget(d ocispec.Descriptor) (t Target, usable bool, err error) {
	switch {
	case d.ArtifactType != TypeTarget:
		return Target{}, false, nil
	case d.MediaType != ocispec.MediaTypeImageManifest:
		return Target{}, false, formatError("index lists a package of media type %q, want %s", clip(d.MediaType), ocispec.MediaTypeImageManifest)
	case d.Platform == nil:
		return Target{}, false, missing(PlatformPart, "index lists a package without a platform")
	}
	p, err := provider.ParsePlatform(d.Platform.OS + "_" + d.Platform.Architecture)
	if err != nil || d.Platform.OSVersion != "" {
		return Target{}, false, nil //nolint:nilerr // OpenTofu ignores invalid platforms
	}
	if err := checkDescriptor(d, MaxManifestSize); err != nil {
		return Target{}, false, formatError("invalid manifest descriptor for %s: %v", p, err)
	}
	return Target{Platform: p, Descriptor: d}, true, nil
}

// Manifest is the parsed manifest of a platform or a module package.
type Manifest struct {
	// Zip is the descriptor of the package's layer.
	Zip ocispec.Descriptor
	// Title is the title of the zip. It is empty if the title is not a valid file name.
	// OpenTofu ignores the title, and other tools use paths as titles.
	Title string
	// Documents contains the layers, except the zip, that have a valid name and an
	// acceptable size. SHA256SUMS needs no name. See [DocumentOf].
	Documents []ocispec.Descriptor
	// Blobs contains the descriptors of the config and all layers, except descriptors
	// with invalid digests.
	Blobs       []ocispec.Descriptor
	Annotations map[string]string
	// Generic reports whether the manifest is generic. See the function [Generic].
	Generic bool
}

// ParseManifest parses the manifest of a platform. It returns errors of type
// *[FormatError].
func ParseManifest(data []byte) (Manifest, error) { return parseManifest(data, TypeTarget) }

func parseManifest(data []byte, artifactType string) (Manifest, error) {
	doc, err := parseDocument(data)
	if err != nil {
		return Manifest{}, err
	}
	if doc.MediaType != ocispec.MediaTypeImageManifest || doc.ArtifactType != artifactType {
		return Manifest{}, missing(ManifestType, "expected a manifest of artifact type %s, got %s", artifactType, describe(doc))
	}
	m := Manifest{Annotations: doc.Annotations, Generic: doc.Config != nil && doc.Config.MediaType == ocispec.MediaTypeImageConfig}
	zips, sumsLayers := 0, 0
	if len(doc.Layers) > maxLayers {
		return Manifest{}, formatError("manifest has %d layers; the maximum is %d", len(doc.Layers), maxLayers)
	}
	for _, layer := range doc.Layers {
		layer = ownType(layer)
		title := layer.Annotations[ocispec.AnnotationTitle]
		if provider.CheckFilename(title) != nil {
			title = ""
		}
		unreadable := checkDescriptor(layer, MaxDocumentSize)
		switch {
		case layer.MediaType == MediaTypeZip:
			zips++
			m.Zip, m.Title = layer, title
		case layer.MediaType == MediaTypeSums:
			// SHA256SUMS must be readable, even if it has no name.
			sumsLayers++
			if unreadable != nil {
				return Manifest{}, formatError("invalid layer of type %s: %v", MediaTypeSums, unreadable)
			}
			m.Documents = append(m.Documents, layer)
		case title != "" && unreadable == nil:
			m.Documents = append(m.Documents, layer)
		}
	}
	if err := checkManifest(m, zips, sumsLayers); err != nil {
		return Manifest{}, err
	}
	m.Blobs = blobsOf(doc)
	return m, nil
}

func blobsOf(doc document) []ocispec.Descriptor {
	all := slices.Clone(doc.Layers)
	if doc.Config != nil {
		all = append(all, *doc.Config)
	}
	return slices.DeleteFunc(all, func(d ocispec.Descriptor) bool { return checkDescriptor(d, -1) != nil })
}

func checkManifest(m Manifest, zips, sumsLayers int) error {
	switch {
	case zips == 0:
		return missing(ZipLayer, "manifest has no layer of type %s", MediaTypeZip)
	case zips > 1:
		return formatError("manifest has %d layers of type %s, want 1", zips, MediaTypeZip)
	case sumsLayers > 1:
		return formatError("manifest has %d layers of type %s, want at most 1", sumsLayers, MediaTypeSums)
	}
	if err := checkDescriptor(m.Zip, MaxZipSize); err != nil {
		return formatError("invalid zip layer: %v", err)
	}
	return nil
}
