package oci_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tofu-oci/tofu-oci/internal/testing/nouns"

	"github.com/opencontainers/go-digest"
	"github.com/opencontainers/image-spec/specs-go"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/tofu-oci/tofu-oci/internal/testing/registrytest"
	"github.com/tofu-oci/tofu-oci/internal/testing/testca"
	"github.com/tofu-oci/tofu-oci/pkg/artifact"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
	"github.com/tofu-oci/tofu-oci/pkg/source/oci"
	"github.com/tofu-oci/tofu-oci/pkg/sums"
	"github.com/tofu-oci/tofu-oci/pkg/template"
)

// Platforms that no machine that runs these tests uses, and parsed values.
var (
	haiku, plan9            = nouns.Haiku, nouns.Plan9
	address, version, zipOf = nouns.Address, nouns.Version, nouns.Zip
)

// mirror is an OCI registry or layout with one repository per provider.
type mirror struct {
	registry *registrytest.Registry // nil for layouts
	template template.Template
	options  repository.Options
	address  provider.Address
	version  provider.Version
	zips     map[provider.Platform][]byte
}

func newMirror(t *testing.T, layout bool) *mirror {
	t.Helper()
	m := &mirror{
		address: address(t, "registry.example.org/acme/thing"), version: version(t, "1.2.3"),
		zips: map[provider.Platform][]byte{haiku: zipOf(t, "haiku"), plan9: zipOf(t, "plan9")},
	}
	text := "oci-layout:" + filepath.ToSlash(t.TempDir()) + "/{namespace}/{type}"
	if !layout {
		ca, err := testca.New()
		if err != nil {
			t.Fatal(err)
		}
		m.registry = registrytest.New(registrytest.Options{})
		m.options.HTTP = registrytest.Client(t, ca)
		text = registrytest.Serve(t, ca, m.registry) + "/mirror/{namespace}/{type}"
	}
	var err error
	if m.template, err = template.Parse(text); err != nil {
		t.Fatal(err)
	}
	return m
}

func (m *mirror) open(a provider.Address) (repository.Repository, error) {
	ref, err := m.template.Repository(a)
	if err != nil {
		return nil, err
	}
	return repository.Open(ref, m.options)
}

func (m *mirror) source() *oci.Source {
	return oci.New(func(a provider.Address) (repository.Reader, error) { return m.open(a) })
}

func (m *mirror) filename(p provider.Platform) string {
	return provider.Filename(m.address, m.version, p)
}

// sums returns the document that lists all zips.
func (m *mirror) sums() []byte {
	lines := map[string]digest.Digest{}
	for p, zip := range m.zips {
		lines[m.filename(p)] = digest.FromBytes(zip)
	}
	return sums.New(lines).Bytes()
}

// document is a layer or a manifest to be pushed.
type document struct {
	mediaType, title string
	bytes            []byte
}

// artifactOf is an artifact that tests can modify before it is pushed.
type artifactOf struct {
	mirror *mirror
	// layers contains the layers of each platform, with the zip first.
	layers map[provider.Platform][]document
	// The edits are applied last.
	editManifest func(p provider.Platform, x *ocispec.Manifest)
	editIndex    func(x *ocispec.Index)
	// lost lists blobs that are deleted after the push. Before that, the blobs must
	// exist, because registries reject manifests without them.
	lost []digest.Digest
}

// foreign returns a valid artifact without tofu-oci's annotations. Each manifest
// contains a zip with a title and a SHA256SUMS.
func (m *mirror) foreign() *artifactOf {
	a := &artifactOf{mirror: m, layers: map[provider.Platform][]document{}}
	for p, zip := range m.zips {
		a.layers[p] = []document{
			{artifact.MediaTypeZip, m.filename(p), zip},
			{artifact.MediaTypeSums, provider.SumsName(m.address, m.version), m.sums()},
		}
	}
	return a
}

func (a *artifactOf) put(t *testing.T) {
	t.Helper()
	repo, err := a.mirror.open(a.mirror.address)
	if err != nil {
		t.Fatal(err)
	}
	push := func(mediaType string, data []byte) ocispec.Descriptor {
		d := ocispec.Descriptor{MediaType: mediaType, Digest: digest.FromBytes(data), Size: int64(len(data))}
		if err := repo.PushBlob(t.Context(), d, bytes.NewReader(data)); err != nil {
			t.Fatal(err)
		}
		return d
	}
	index := ocispec.Index{
		Versioned: specs.Versioned{SchemaVersion: 2}, MediaType: ocispec.MediaTypeImageIndex, ArtifactType: artifact.TypeProvider,
	}
	for p, layers := range a.layers {
		x := ocispec.Manifest{
			Versioned: specs.Versioned{SchemaVersion: 2}, MediaType: ocispec.MediaTypeImageManifest, ArtifactType: artifact.TypeTarget,
			Config: push(ocispec.MediaTypeEmptyJSON, []byte("{}")),
		}
		for _, l := range layers {
			d := push(l.mediaType, l.bytes)
			if l.title != "" {
				d.Annotations = map[string]string{ocispec.AnnotationTitle: l.title}
			}
			x.Layers = append(x.Layers, d)
		}
		if a.editManifest != nil {
			a.editManifest(p, &x)
		}
		b := marshal(t, ocispec.MediaTypeImageManifest, x)
		if err := repo.PushManifest(t.Context(), b); err != nil {
			t.Fatal(err)
		}
		b.Descriptor.ArtifactType = artifact.TypeTarget
		b.Descriptor.Platform = &ocispec.Platform{OS: p.OS, Architecture: p.Arch}
		index.Manifests = append(index.Manifests, b.Descriptor)
	}
	if a.editIndex != nil {
		a.editIndex(&index)
	}
	a.mirror.tag(t, index.MediaType, index)
	for _, d := range a.lost {
		lose(t, repo, a.mirror.registry, d)
	}
}

// lose deletes a blob, as cleanup jobs do.
func lose(t *testing.T, repo repository.Repository, registry *registrytest.Registry, d digest.Digest) {
	t.Helper()
	if registry != nil {
		registry.Delete(t, repo.Capabilities().Name, d.String())
		return
	}
	path, err := repo.Capabilities().BlobPath(d)
	if err == nil {
		err = os.Remove(path)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// pushBlob stores a blob for a manifest.
func (m *mirror) pushBlob(t *testing.T, content string) {
	t.Helper()
	repo, err := m.open(m.address)
	if err != nil {
		t.Fatal(err)
	}
	d := ocispec.Descriptor{Digest: digest.FromString(content), Size: int64(len(content))}
	if err := repo.PushBlob(t.Context(), d, strings.NewReader(content)); err != nil {
		t.Fatal(err)
	}
}

// tag stores a document under the version's tag.
func (m *mirror) tag(t *testing.T, mediaType string, document any) {
	t.Helper()
	repo, err := m.open(m.address)
	if err != nil {
		t.Fatal(err)
	}
	if err := repo.PushTag(t.Context(), marshal(t, mediaType, document), artifact.Tag(m.version), ""); err != nil {
		t.Fatal(err)
	}
}

func marshal(t *testing.T, mediaType string, document any) artifact.Blob {
	t.Helper()
	data, err := json.Marshal(document)
	if err != nil {
		t.Fatal(err)
	}
	return artifact.Blob{Descriptor: ocispec.Descriptor{MediaType: mediaType, Digest: digest.FromBytes(data), Size: int64(len(data))}, Bytes: data}
}
