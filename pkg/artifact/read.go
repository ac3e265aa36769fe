package artifact

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/tofu-oci/tofu-oci/internal/bounded"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/sums"
)

// Index is what an index says about a release. What is no provider package in
// it is left out, as OpenTofu does.
type Index struct {
	// Targets are sorted by platform, one each. There are none where all packages
	// are for versions of operating systems, which OpenTofu passes over.
	Targets     []Target
	Annotations map[string]string
}

// Target is the entry of one platform's manifest in an index.
type Target struct {
	Platform   provider.Platform
	Descriptor ocispec.Descriptor
	// Twice tells that the index has several entries for the platform, of which
	// this is one. OpenTofu refuses to choose among them; other platforms are as
	// good as ever.
	Twice bool
}

// Err is the *[FormatError] of a platform that has several entries.
func (t Target) Err() error {
	if t.Twice {
		return formatError("has two manifests for %s", t.Platform)
	}
	return nil
}

// Digest is the zip's digest when the entry carries our zh annotation, and is the
// only one for its platform.
func (t Target) Digest() (digest.Digest, bool) {
	d, err := sums.ParseZH(t.Descriptor.Annotations[annotationZH])
	return d, err == nil && !t.Twice
}

// H1 is the zip's h1 hash when the entry carries our annotation of it.
func (t Target) H1() string {
	h1, err := sums.ParseH1(t.Descriptor.Annotations[annotationH1])
	if err != nil {
		return ""
	}
	return h1
}

// StatedZH returns the text of our zh annotation, which may be invalid.
func (t Target) StatedZH() (text string, exists bool) {
	text, exists = t.Descriptor.Annotations[annotationZH]
	return text, exists
}

// StatedH1 returns the text of our h1 annotation, which may be invalid.
func (t Target) StatedH1() (text string, exists bool) {
	text, exists = t.Descriptor.Annotations[annotationH1]
	return text, exists
}

// Target finds the entry of a platform.
func (x Index) Target(p provider.Platform) (Target, bool) {
	i, found := slices.BinarySearchFunc(x.Targets, p, func(t Target, p provider.Platform) int { return t.Platform.Compare(p) })
	if !found {
		return Target{}, false
	}
	return x.Targets[i], true
}

// Single lists the platforms that have one entry, sorted.
func (x Index) Single() []provider.Platform {
	var ps []provider.Platform
	for _, t := range x.Targets {
		if !t.Twice {
			ps = append(ps, t.Platform)
		}
	}
	return ps
}

// Platforms lists the platforms of the index, sorted.
func (x Index) Platforms() []provider.Platform {
	ps := make([]provider.Platform, len(x.Targets))
	for i, t := range x.Targets {
		ps[i] = t.Platform
	}
	return ps
}

// Protocols returns the plugin protocol versions of our annotation.
func (x Index) Protocols() []string {
	text := x.Annotations[annotationProtocols]
	if text == "" {
		return nil
	}
	return strings.Split(text, ",")
}

// Published returns the version's date, as [provider.Release] has it; zero when there
// is none that could be one. Other tools may mean by it when they wrote the index.
func (x Index) Published() time.Time {
	t, _ := time.Parse(time.RFC3339, x.Annotations[ocispec.AnnotationCreated]) // the zero time if invalid
	return provider.CleanDate(t)
}

// document has the fields of index and manifest that tell them and others apart.
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

// decode reads a manifest of any kind. What is in it is counted before anything
// is made of it.
func decode(data []byte, into any) error {
	if len(data) > MaxManifestSize {
		return formatError("has %d bytes, more than the %d that OpenTofu reads", len(data), MaxManifestSize)
	}
	err := bounded.DecodeJSON(data, into, maxValues)
	if errors.Is(err, bounded.ErrJSONLimit) {
		return formatError("%s, which no artifact needs", strings.TrimPrefix(err.Error(), "it "))
	}
	if err != nil {
		return formatError("is not valid JSON: %v", err)
	}
	return nil
}

// ParseIndex reads the index of a release. Errors are *[FormatError].
func ParseIndex(data []byte) (Index, error) {
	doc, err := parseDocument(data)
	if err != nil {
		return Index{}, err
	}
	if doc.MediaType != ocispec.MediaTypeImageIndex || doc.ArtifactType != TypeProvider {
		return Index{}, formatError("is %s, not an index of artifact type %s", describe(doc), TypeProvider)
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
		return Index{}, formatError("has manifests for %d platforms, more than the %d that can be real", len(index.Targets), maxTargets)
	}
	if packages == 0 {
		return Index{}, formatError("is an index without any manifest of artifact type %s", TypeTarget)
	}
	index.Targets = onePerPlatform(index.Targets)
	return index, nil
}

// onePerPlatform sorts targets, and keeps the first of several for a platform.
func onePerPlatform(targets []Target) []Target {
	slices.SortStableFunc(targets, func(a, b Target) int { return a.Platform.Compare(b.Platform) })
	var once []Target
	for _, t := range targets {
		if last := len(once) - 1; last >= 0 && once[last].Platform == t.Platform {
			once[last].Twice = true
			continue
		}
		once = append(once, t)
	}
	return once
}

// parseTarget reads an entry of an index. By OpenTofu's rules other artifact
// types, versions of operating systems and unknown platforms are passed over,
// but what claims to be a package has to be a manifest for some platform.
func parseTarget(d ocispec.Descriptor) (t Target, usable bool, err error) {
	switch {
	case d.ArtifactType != TypeTarget:
		return Target{}, false, nil
	case d.MediaType != ocispec.MediaTypeImageManifest:
		return Target{}, false, formatError("lists a package of media type %q, not %s", clip(d.MediaType), ocispec.MediaTypeImageManifest)
	case d.Platform == nil:
		return Target{}, false, formatError("lists a package without a platform")
	}
	p, err := provider.ParsePlatform(d.Platform.OS + "_" + d.Platform.Architecture)
	if err != nil || d.Platform.OSVersion != "" {
		return Target{}, false, nil //nolint:nilerr // OpenTofu passes over such a platform
	}
	if err := checkDescriptor(d, MaxManifestSize); err != nil {
		return Target{}, false, formatError("names a manifest for %s that cannot be read: %v", p, err)
	}
	return Target{Platform: p, Descriptor: d}, true, nil
}

// Manifest is what one platform's manifest says.
type Manifest struct {
	// Zip is the package's layer.
	Zip ocispec.Descriptor
	// Title is the zip's title, empty when it has none that may be a file name.
	// OpenTofu does not look at it, and tools put paths there.
	Title string
	// Documents are the other layers that have a name and a bearable size; see
	// [DocumentOf]. What OpenTofu ignores and we cannot use is left out.
	Documents []ocispec.Descriptor
	// Blobs are the descriptors that the manifest needs: config and layers, but
	// for those that cannot be asked for.
	Blobs       []ocispec.Descriptor
	Annotations map[string]string
}

// ParseManifest reads the manifest of one platform. Errors are *[FormatError].
func ParseManifest(data []byte) (Manifest, error) {
	doc, err := parseDocument(data)
	if err != nil {
		return Manifest{}, err
	}
	if doc.MediaType != ocispec.MediaTypeImageManifest || doc.ArtifactType != TypeTarget {
		return Manifest{}, formatError("has a manifest that is %s, not one of artifact type %s", describe(doc), TypeTarget)
	}
	m := Manifest{Annotations: doc.Annotations}
	zips, sumsLayers := 0, 0
	if len(doc.Layers) > maxLayers {
		return Manifest{}, formatError("has a manifest of %d layers, more than the %d that are read", len(doc.Layers), maxLayers)
	}
	for _, layer := range doc.Layers {
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
			// Evidence that is there has to be readable, with a name or without.
			sumsLayers++
			if unreadable != nil {
				return Manifest{}, formatError("has a layer of type %s that cannot be read: %v", MediaTypeSums, unreadable)
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
		return formatError("has a manifest without a layer of type %s", MediaTypeZip)
	case zips > 1:
		return formatError("has a manifest with %d layers of type %s, where exactly one must be", zips, MediaTypeZip)
	case sumsLayers > 1:
		return formatError("has a manifest with %d layers of type %s", sumsLayers, MediaTypeSums)
	}
	if err := checkDescriptor(m.Zip, MaxZipSize); err != nil {
		return formatError("has a zip layer that cannot be read: %v", err)
	}
	return nil
}

// checkDescriptor refuses digests other than SHA-256 and sizes out of range;
// limit < 0 means any size.
func checkDescriptor(d ocispec.Descriptor, limit int64) error {
	if err := checkDigest(d.Digest); err != nil {
		return err
	}
	if d.Size < 0 || limit >= 0 && d.Size > limit {
		return fmt.Errorf("a size of %d bytes", d.Size)
	}
	return nil
}

// isSHA256 reports whether d is "sha256:" and 64 lower-case hexadecimal digits. It is faster
// than [digest.Digest.Validate], which uses regular expressions.
func isSHA256(d digest.Digest) bool {
	encoded, found := strings.CutPrefix(string(d), "sha256:")
	if !found || len(encoded) != 64 {
		return false
	}
	for _, c := range []byte(encoded) {
		if (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return false
		}
	}
	return true
}

func checkDigest(d digest.Digest) error {
	if isSHA256(d) {
		return nil
	}
	if err := d.Validate(); err != nil {
		return fmt.Errorf("the digest %q: %w", clip(string(d)), err)
	}
	return fmt.Errorf("the digest %q is not sha256", clip(string(d)))
}
