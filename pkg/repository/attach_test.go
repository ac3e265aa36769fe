package repository_test

import (
	"errors"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"
	"github.com/opencontainers/go-digest"
	"github.com/opencontainers/image-spec/specs-go"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/tofu-oci/tofu-oci/internal/testing/nouns"
	"github.com/tofu-oci/tofu-oci/internal/testing/origintest"
	"github.com/tofu-oci/tofu-oci/internal/testing/patience"
	"github.com/tofu-oci/tofu-oci/internal/testing/registrytest"
	"github.com/tofu-oci/tofu-oci/pkg/artifact"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
)

func TestAttach(t *testing.T) {
	t.Parallel()
	eachKind(t, func(t *testing.T, w *world) {
		w.wantDocuments(t)
		w.attach(t, []string{sbom(2).Name, sbom(1).Name}, sbom(2), sbom(1))
		w.wantDocuments(t, sbom(1), sbom(2))
		w.attach(t, []string{sbom(3).Name}, sbom(3), sbom(1))
		w.wantDocuments(t, sbom(1), sbom(2), sbom(3))
		w.wantSubject(t)
	})
}

// TestAttachTwice checks that attaching the same document again, or a different
// document with the same name, writes nothing.
func TestAttachTwice(t *testing.T) {
	t.Parallel()
	eachKind(t, func(t *testing.T, w *world) {
		w.attach(t, []string{sbom(1).Name}, sbom(1))
		other := sbom(1).WithBytes(sbom(2).Bytes)
		writes := 0
		if w.registry != nil {
			writes = w.registry.Writes()
		}
		w.attach(t, nil, sbom(1))
		w.attach(t, nil, other)
		w.wantDocuments(t, sbom(1))
		if w.registry != nil && w.registry.Writes() != writes {
			t.Error("something was written")
		}
	})
}

func TestAttachNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t, &registrytest.Options{})
	before := w.registry.Requests()[registrytest.Referrers]
	w.attach(t, nil)
	if w.registry.Requests()[registrytest.Referrers] != before {
		t.Error("unexpected request")
	}
}

// TestReferrersTagOnlyWithoutAPI checks that Attach creates a referrers tag only if the
// registry lacks the referrers API.
func TestReferrersTagOnlyWithoutAPI(t *testing.T) {
	t.Parallel()
	for name, o := range kinds {
		if o == nil {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, o)
			w.attach(t, []string{sbom(1).Name}, sbom(1))
			tagged := len(w.registry.Tags(t, repositoryName)) == 2
			if tagged != (o.NoReferrers != 0) {
				t.Errorf("the tags are %v", w.registry.Tags(t, repositoryName))
			}
		})
	}
}

// TestReferrersElsewhere checks that a redirect of a referrers request to another host
// isn't followed, and means that the registry doesn't have the API. GHCR redirects such
// requests to a web server.
func TestReferrersElsewhere(t *testing.T) {
	t.Parallel()
	w := newWorld(t, &registrytest.Options{NoReferrers: http.StatusNotFound})
	far := 0
	other, _ := inMemory(t, http.HandlerFunc(func(http.ResponseWriter, *http.Request) { far++ }))
	w.registry.Misbehave(registrytest.Referrers, origintest.Redirect("http://"+other+"/packages"), -1)
	w.attach(t, []string{sbom(1).Name}, sbom(1))
	before := w.registry.Requests()[registrytest.Referrers]
	repo := w.open()
	for range 2 {
		documents, err := repository.Documents(t.Context(), repo, w.subject.Digest)
		if err != nil || len(documents) != 1 {
			t.Errorf("got %v, %v", documents, err)
		}
	}
	if n := w.registry.Requests()[registrytest.Referrers] - before; n != 1 || far != 0 {
		t.Errorf("%d requests to the registry, %d to the other host", n, far)
	}
}

// TestReferrersAreHints checks that documents and decisions are found if the registry
// lists them without annotations, or with a wrong type, because the manifests have them.
func TestReferrersAreHints(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*ocispec.Descriptor){
		"no annotations": func(d *ocispec.Descriptor) { d.Annotations = nil },
		"no type":        func(d *ocispec.Descriptor) { d.ArtifactType = "" },
		"type of config": func(d *ocispec.Descriptor) { d.ArtifactType = ocispec.MediaTypeEmptyJSON },
		"digests only":   func(d *ocispec.Descriptor) { d.ArtifactType, d.Annotations = "", nil },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, nil)
			w.attach(t, []string{sbom(1).Name}, sbom(1))
			deny := repository.NewDecision(w.open(), artifact.DecisionDeny, artifact.VerdictDeny, nouns.Address(t, "acme/thing"), nouns.Version(t, "1.0.0"))
			deny.Reason = "it phones home"
			if err := repository.Record(t.Context(), w.open(), deny, w.subject, nil); err != nil {
				t.Fatal(err)
			}
			entries := w.list(t)
			for i := range entries {
				change(&entries[i])
			}
			list, err := artifact.AddReferrer(entries)
			if err != nil {
				t.Fatal(err)
			}
			tag := artifact.ReferrersTag(w.subject.Digest)
			was, _, err := w.open().Manifest(t.Context(), tag)
			if err == nil {
				err = w.open().PushTag(t.Context(), list, tag, was.Digest)
			}
			if err != nil {
				t.Fatal(err)
			}
			w.wantDocuments(t, sbom(1))
			decisions, err := repository.Decisions(t.Context(), w.open(), w.subject.Digest)
			if diff := cmp.Diff([]string{deny.Reason}, reasons(decisions)); err != nil || diff != "" {
				t.Errorf("%v %s", err, diff)
			}
			r, err := repository.ReadReferrers(t.Context(), w.open(), w.subject.Digest)
			if err != nil || len(r.Lost) > 0 || len(r.Documents) != 1 || len(r.Decisions) != 1 {
				t.Errorf("got %+v, %v", r, err)
			}
		})
	}
}

// TestReferrersTagIsSubject checks the error for a registry such as GitLab, which resolves
// the referrers tag to the artifact's digest.
func TestReferrersTagIsSubject(t *testing.T) {
	t.Parallel()
	w := newWorld(t, &registrytest.Options{NoReferrers: http.StatusNotFound, TagsAreDigests: true})
	before := w.registry.Writes()
	_, err := repository.Attach(t.Context(), w.open(), []provider.Document{sbom(1)}, artifact.Blob{Descriptor: w.subject})
	const want = "attaching document1.spdx.json: registry resolves the referrers tag to the artifact itself, so it cannot store a referrers list"
	if !errors.Is(err, repository.ErrNoReferrersList) || err.Error() != want {
		t.Errorf("got %v", err)
	}
	if w.registry.Writes() != before {
		t.Error("something was written")
	}
	w.wantSubject(t)
	w.wantDocuments(t)
}

// TestReferrersTagReplacesSubject checks that pushing a list to the referrers tag
// replaces the subject in a registry such as GitLab.
func TestReferrersTagReplacesSubject(t *testing.T) {
	t.Parallel()
	w := newWorld(t, &registrytest.Options{NoReferrers: http.StatusNotFound, TagsAreDigests: true})
	list, err := artifact.AddReferrer(nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := w.open().PushTag(t.Context(), list, artifact.ReferrersTag(w.subject.Digest), w.subject.Digest); err != nil {
		t.Fatal(err)
	}
	if _, _, err := w.open().Manifest(t.Context(), w.subject.Digest.String()); !errors.Is(err, repository.ErrNotFound) {
		t.Errorf("the subject is still there: %v", err)
	}
}

// TestReferrersTagWithOtherContent checks that Attach doesn't overwrite a referrers tag
// that points to an image manifest, and that Documents ignores this manifest.
func TestReferrersTagWithOtherContent(t *testing.T) {
	t.Parallel()
	for _, o := range []*registrytest.Options{nil, {NoReferrers: http.StatusNotFound}} {
		w := newWorld(t, o)
		foreign := blobOf(t, ocispec.Manifest{
			Versioned: specs.Versioned{SchemaVersion: 2}, MediaType: ocispec.MediaTypeImageManifest,
			Config: ocispec.DescriptorEmptyJSON, Layers: []ocispec.Descriptor{}, ArtifactType: "application/x",
		}, ocispec.MediaTypeImageManifest)
		pushBlob(t, w.open(), artifact.Blob{Descriptor: ocispec.DescriptorEmptyJSON, Bytes: ocispec.DescriptorEmptyJSON.Data})
		w.plant(t, foreign)
		_, err := repository.Attach(t.Context(), w.open(), []provider.Document{sbom(1)}, artifact.Blob{Descriptor: w.subject})
		if _, ok := errors.AsType[*artifact.FormatError](err); !ok || !strings.Contains(err.Error(), `expected a referrers list, got an image manifest of artifact type "application/x"`) {
			t.Errorf("got %v", err)
		}
		d, _, err := w.open().Manifest(t.Context(), artifact.ReferrersTag(w.subject.Digest))
		if err != nil || d.Digest != foreign.Descriptor.Digest {
			t.Errorf("the tag is at %s, %v", d.Digest, err)
		}
		w.wantDocuments(t)
	}
}

// TestAttachConcurrently checks that concurrent Attach calls lose no documents,
// regardless of whether they attach the same document.
func TestAttachConcurrently(t *testing.T) {
	t.Parallel()
	patience.SkipIfShort(t)
	for name, o := range map[string]*registrytest.Options{"layout": nil, "API": {}, "tag": {NoReferrers: http.StatusNotFound}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for range 3 {
				synctest.Test(t, func(t *testing.T) {
					w := newWorld(t, o)
					var group sync.WaitGroup
					for i := range 5 {
						for range 2 {
							group.Go(func() {
								if _, err := repository.Attach(t.Context(), w.open(), []provider.Document{sbom(i)}, artifact.Blob{Descriptor: w.subject}); err != nil {
									t.Error(err)
								}
							})
						}
					}
					group.Wait()
					w.wantDocuments(t, sbom(0), sbom(1), sbom(2), sbom(3), sbom(4))
					w.wantSubject(t)
				})
			}
		})
	}
}

// TestListIsOverwritten checks that Attach adds its entry again if another run
// overwrites the list after Attach has confirmed the entry.
func TestListIsOverwritten(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, &registrytest.Options{NoReferrers: http.StatusNotFound})
		w.registry.Overwrite(artifact.ReferrersTag(w.subject.Digest))
		var group sync.WaitGroup
		for i := range 2 {
			group.Go(func() {
				if _, err := repository.Attach(t.Context(), w.open(), []provider.Document{sbom(i)}, artifact.Blob{Descriptor: w.subject}); err != nil {
					t.Error(err)
				}
			})
		}
		group.Wait()
		w.wantDocuments(t, sbom(0), sbom(1))
	})
}

// TestAttachKeepsEntriesOfOthers checks that Attach keeps entries that other tools
// created, including entries that tofu-oci can't read.
func TestAttachKeepsEntriesOfOthers(t *testing.T) {
	t.Parallel()
	for _, o := range []*registrytest.Options{nil, {NoReferrers: http.StatusMethodNotAllowed}} {
		w := newWorld(t, o)
		foreign := blobOf(t, ocispec.Index{Versioned: specs.Versioned{SchemaVersion: 2}, MediaType: ocispec.MediaTypeImageIndex, Manifests: []ocispec.Descriptor{}}, ocispec.MediaTypeImageIndex)
		if err := w.open().PushManifest(t.Context(), foreign); err != nil {
			t.Fatal(err)
		}
		list, err := artifact.AddReferrer(nil, foreign.Descriptor)
		if err != nil {
			t.Fatal(err)
		}
		w.plant(t, list)
		w.attach(t, []string{sbom(1).Name}, sbom(1))
		if entries := w.list(t); len(entries) != 2 || entries[0].Digest != foreign.Descriptor.Digest {
			t.Errorf("the list is %v", entries)
		}
	}
}

// TestAttachAfterCleanup checks that Attach replaces an entry whose manifest was
// deleted.
func TestAttachAfterCleanup(t *testing.T) {
	t.Parallel()
	patience.SkipIfShort(t)
	w := newWorld(t, &registrytest.Options{NoReferrers: http.StatusNotFound})
	w.attach(t, []string{sbom(1).Name, sbom(2).Name}, sbom(1), sbom(2))
	w.registry.Delete(t, repositoryName, w.list(t)[0].Digest.String())
	w.wantDocuments(t, sbom(2))
	other := sbom(1).WithBytes([]byte(`{"spdxVersion":"made again"}`))
	w.attach(t, []string{other.Name}, other, sbom(2))
	w.wantDocuments(t, other, sbom(2))
	if n := len(w.list(t)); n != 2 {
		t.Errorf("%d entries", n)
	}
}

// TestDocumentsTolerates checks that Documents skips referrers that are not documents,
// have an invalid name, or have no manifest.
func TestDocumentsTolerates(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil) // registries reject lists with missing manifests
	bare := blobOf(t, ocispec.Index{Versioned: specs.Versioned{SchemaVersion: 2}, MediaType: ocispec.MediaTypeImageIndex, Manifests: []ocispec.Descriptor{}}, ocispec.MediaTypeImageIndex)
	if err := w.open().PushManifest(t.Context(), bare); err != nil {
		t.Fatal(err)
	}
	entry := func(d digest.Digest, title string) ocispec.Descriptor {
		return ocispec.Descriptor{MediaType: ocispec.MediaTypeImageManifest, Digest: d, Size: 1, Annotations: map[string]string{ocispec.AnnotationTitle: title}}
	}
	document, err := artifact.PackReferrer(sbom(1), w.subject)
	if err != nil {
		t.Fatal(err)
	}
	list, err := artifact.AddReferrer(nil,
		entry(bare.Descriptor.Digest, "no-layer.json"), entry(digest.FromString("gone"), "gone.json"), entry("1.0.0", "no-digest.json"),
		entry(w.subject.Digest, "../hostile.json"), entry(w.subject.Digest, ""), document.Entry)
	if err != nil {
		t.Fatal(err)
	}
	w.plant(t, list)
	w.wantDocuments(t)
	w.attach(t, []string{sbom(1).Name}, sbom(1))
	w.wantDocuments(t, sbom(1))
}

// TestDocumentsAreVerified checks that reading a document detects content that does not
// match the digest.
func TestDocumentsAreVerified(t *testing.T) {
	t.Parallel()
	w := newWorld(t, &registrytest.Options{})
	w.attach(t, []string{sbom(1).Name}, sbom(1))
	w.registry.Misbehave(registrytest.BlobGet, origintest.FlipBit(3), -1)
	documents, err := repository.Documents(t.Context(), w.open(), w.subject.Digest)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := documents[0].Read(t.Context()); err == nil || !strings.Contains(err.Error(), "fetching document1.spdx.json: checksum of document1.spdx.json is") {
		t.Errorf("got %v", err)
	}
}

// TestRefusals checks that errors include the registry's error message.
func TestRefusals(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		kind   registrytest.Kind
		status int
		want   string
	}{
		"list":     {registrytest.Referrers, http.StatusInternalServerError, "attaching document1.spdx.json: listing the referrers of localhost:"},
		"manifest": {registrytest.ManifestPut, http.StatusMethodNotAllowed, "attaching document1.spdx.json: pushing manifest localhost:"},
		"blob":     {registrytest.UploadPost, http.StatusForbidden, "attaching document1.spdx.json: pushing blob localhost:"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, &registrytest.Options{})
			w.registry.Misbehave(test.kind, registrytest.Refuse(test.status, "UNSUPPORTED", "not here"), -1)
			_, err := repository.Attach(t.Context(), w.open(), []provider.Document{sbom(1)}, artifact.Blob{Descriptor: w.subject})
			if err == nil || !strings.HasPrefix(err.Error(), test.want) || !strings.Contains(err.Error(), "UNSUPPORTED: not here") {
				t.Errorf("got %v", err)
			}
			if test.kind == registrytest.Referrers {
				if _, err := repository.Documents(t.Context(), w.open(), w.subject.Digest); err == nil || !strings.HasPrefix(err.Error(), "listing the referrers of sha256:") {
					t.Errorf("documents: %v", err)
				}
			}
		})
	}
}

func TestAttachRefusesHostileNames(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	a := sbom(1)
	a.Name = "../outside.json"
	if _, err := repository.Attach(t.Context(), w.open(), []provider.Document{a}, artifact.Blob{Descriptor: w.subject}); err == nil || !strings.Contains(err.Error(), "a character that is not allowed") {
		t.Errorf("got %v", err)
	}
	w.wantDocuments(t)
}
