package repository_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/opencontainers/go-digest"
	"github.com/opencontainers/image-spec/specs-go"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/tofu-oci/tofu-oci/internal/testing/registrytest"
	"github.com/tofu-oci/tofu-oci/pkg/artifact"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
	"github.com/tofu-oci/tofu-oci/pkg/template"
)

const repositoryName = "acme/thing"

// kinds maps the kinds of repositories that can store referrers to their options.
var kinds = map[string]*registrytest.Options{
	"layout":            nil,
	"API":               {},
	"no API, 404":       {NoReferrers: http.StatusNotFound},
	"no API, 405":       {NoReferrers: http.StatusMethodNotAllowed},
	"no API, 400":       {NoReferrers: http.StatusBadRequest},
	"no API, 501":       {NoReferrers: http.StatusNotImplemented},
	"no API, 401":       {NoReferrers: http.StatusUnauthorized},
	"no API, 403":       {NoReferrers: http.StatusForbidden},
	"no API, 406":       {NoReferrers: http.StatusNotAcceptable},
	"no API, web page":  {NoReferrers: http.StatusOK},
	"API, tags digests": {TagsAreDigests: true},
}

// world is a repository that contains an artifact with the tag 1.0.0. The referrers in
// these tests refer to this artifact.
type world struct {
	open     func() repository.Repository
	registry *registrytest.Registry // nil for image layouts
	subject  ocispec.Descriptor
}

func newWorld(t *testing.T, o *registrytest.Options) *world {
	t.Helper()
	w := &world{}
	ref := template.Reference{Layout: filepath.ToSlash(t.TempDir())}
	var options repository.Options
	if o != nil {
		w.registry = registrytest.New(*o)
		ref = template.Reference{Name: repositoryName}
		ref.Registry, options = inMemory(t, w.registry)
	}
	w.open = func() repository.Repository {
		repo, err := repository.Open(ref, options)
		if err != nil {
			t.Fatal(err)
		}
		return repo
	}
	index := blobOf(t, ocispec.Index{
		Versioned: specs.Versioned{SchemaVersion: 2}, MediaType: ocispec.MediaTypeImageIndex,
		ArtifactType: artifact.TypeProvider, Manifests: []ocispec.Descriptor{},
	}, ocispec.MediaTypeImageIndex)
	if err := w.open().PushTag(t.Context(), index, "1.0.0", ""); err != nil {
		t.Fatal(err)
	}
	w.subject = index.Descriptor
	return w
}

func eachKind(t *testing.T, test func(t *testing.T, w *world)) {
	t.Helper()
	for name, o := range kinds {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, newWorld(t, o))
		})
	}
}

func blobOf(t *testing.T, document any, mediaType string) artifact.Blob {
	t.Helper()
	data, err := json.Marshal(document)
	if err != nil {
		t.Fatal(err)
	}
	return artifact.Blob{Descriptor: ocispec.Descriptor{MediaType: mediaType, Digest: digest.FromBytes(data), Size: int64(len(data))}, Bytes: data}
}

func sbom(i int) provider.Document {
	d := artifact.NewDocument(fmt.Sprintf("document%d.spdx.json", i), artifact.MediaTypeSPDX, fmt.Appendf(nil, `{"spdxVersion":"SPDX-2.%d"}`, i))
	d.Scope = provider.ScopeRelease
	return d
}

func (w *world) attach(t *testing.T, want []string, documents ...provider.Document) {
	t.Helper()
	got, err := repository.Attach(t.Context(), w.open(), documents, artifact.Blob{Descriptor: w.subject})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("attached (-want +got):\n%s", diff)
	}
}

// wantDocuments compares the attached documents.
func (w *world) wantDocuments(t *testing.T, want ...provider.Document) {
	t.Helper()
	got, err := repository.Documents(t.Context(), w.open(), w.subject.Digest)
	if err != nil {
		t.Fatal(err)
	}
	for i, d := range got {
		content, err := d.Read(t.Context())
		if err != nil {
			t.Error(err)
		}
		got[i] = d.WithBytes(content)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("documents (-want +got):\n%s", diff)
	}
}

// wantSubject checks that the subject is unchanged.
func (w *world) wantSubject(t *testing.T) {
	t.Helper()
	for _, reference := range []string{"1.0.0", w.subject.Digest.String()} {
		d, _, err := w.open().Manifest(t.Context(), reference)
		if err != nil || d.Digest != w.subject.Digest {
			t.Errorf("%s is %s now, %v", reference, d.Digest, err)
		}
	}
}

// list returns the entries of the list under the referrers tag.
func (w *world) list(t *testing.T) []ocispec.Descriptor {
	t.Helper()
	_, data, err := w.open().Manifest(t.Context(), artifact.ReferrersTag(w.subject.Digest))
	if err != nil {
		t.Fatal(err)
	}
	entries, err := artifact.ParseReferrers(data)
	if err != nil {
		t.Fatal(err)
	}
	return entries
}

// plant pushes b under the referrers tag.
func (w *world) plant(t *testing.T, b artifact.Blob) {
	t.Helper()
	if err := w.open().PushTag(t.Context(), b, artifact.ReferrersTag(w.subject.Digest), ""); err != nil {
		t.Fatal(err)
	}
}
