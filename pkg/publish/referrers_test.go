package publish_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tofu-oci/tofu-oci/internal/testing/origintest"
	"github.com/tofu-oci/tofu-oci/internal/testing/registrytest"
	"github.com/tofu-oci/tofu-oci/pkg/artifact"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/publish"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
)

const spdx = `{"spdxVersion":"SPDX-2.3"}`

func wantAttached(t *testing.T, r publish.Result, want ...string) {
	t.Helper()
	if diff := cmp.Diff(want, r.Attached); diff != "" {
		t.Errorf("attached (-want +got):\n%s", diff)
	}
}

// TestReferrers checks that documents about all platforms refer to the index. When
// platforms are added, they refer to the new index.
func TestReferrers(t *testing.T) {
	t.Parallel()
	eachLocalTarget(t, func(t *testing.T, w *world, to *target) {
		const sbom, provenance = stem + ".spdx.json", stem + ".intoto.jsonl"
		dir := w.dist(t, map[string]string{".spdx.json": spdx}, haiku)
		wantAttached(t, w.publishLocal(t, to, publish.Created, dir, publish.Options{}), sbom)
		w.wantReferring(t, to, sbom)
		state := to.state(t)
		wantAttached(t, w.publishLocal(t, to, publish.Unchanged, dir, publish.Options{}))
		if to.state(t) != state {
			t.Error("unexpected writes")
		}
		// A new document is attached to the existing index.
		was := to.digest(t)
		more := w.dist(t, map[string]string{".spdx.json": spdx, ".intoto.jsonl": "{}\n"}, haiku)
		wantAttached(t, w.publishLocal(t, to, publish.Unchanged, more, publish.Options{}), provenance)
		to.wantTag(t, was)
		w.wantReferring(t, to, provenance, sbom)
		// Another platform results in a new index.
		w.publishLocal(t, to, publish.Extended, w.dist(t, nil, zos), publish.Options{})
		w.wantReferring(t, to, provenance, sbom)
		if _, _, err := to.open(t).Manifest(t.Context(), was.String()); err != nil {
			t.Errorf("the previous index is missing: %v", err)
		}
	})
}

// TestReferrersInADryRun checks that a dry run attaches nothing.
func TestReferrersInADryRun(t *testing.T) {
	t.Parallel()
	eachLocalTarget(t, func(t *testing.T, w *world, to *target) {
		w.publishLocal(t, to, publish.Created, w.dist(t, nil, haiku), publish.Options{})
		state := to.state(t)
		_, err := w.runLocal(t, to, w.dist(t, map[string]string{".spdx.json": spdx}, haiku), publish.Options{DryRun: true})
		if err != nil || to.state(t) != state {
			t.Errorf("unexpected writes, %v", err)
		}
	})
}

// TestReferrersOfReplacedRelease checks that the referrers of a replaced release are
// not copied, because they describe the replaced zips.
func TestReferrersOfReplacedRelease(t *testing.T) {
	t.Parallel()
	eachLocalTarget(t, func(t *testing.T, w *world, to *target) {
		w.publishLocal(t, to, publish.Created, w.dist(t, map[string]string{".intoto.jsonl": "{}\n"}, haiku), publish.Options{})
		w.zips[haiku] = zipOf(t, "built again")
		w.publishLocal(t, to, publish.Replaced, w.dist(t, nil, haiku), publish.Options{Force: true})
		w.wantReferring(t, to)
	})
}

// TestReferrersAreReadFirst checks that an invalid document is detected before the
// release is tagged.
func TestReferrersAreReadFirst(t *testing.T) {
	t.Parallel()
	eachTarget(t, origintest.Options{}, func(t *testing.T, w *world, to *target) {
		_, err := w.runLocal(t, to, w.dist(t, map[string]string{".spdx.json": "{}"}, haiku), publish.Options{})
		wantText(t, err, stem+".spdx.json is neither an SPDX nor a CycloneDX document")
		to.wantTag(t, "")
	})
}

// TestReferrersOfAMovedTag checks a run that adds a platform immediately after another
// run has written the tag of an index with a document.
func TestReferrersOfAMovedTag(t *testing.T) {
	t.Parallel()
	eachLocalTarget(t, func(t *testing.T, w *world, to *target) {
		var once sync.Once
		repo := &watched{Repository: to.open(t), after: func() {
			if to.digest(t) != "" { // the version's tag, not the tag of a list
				once.Do(func() { w.publishLocal(t, to, publish.Extended, w.dist(t, nil, zos), publish.Options{}) })
			}
		}}
		result, err := w.runLocalOver(t, repo, w.dist(t, map[string]string{".spdx.json": spdx}, haiku), publish.Options{})
		if err != nil {
			t.Fatal(err)
		}
		wantAttached(t, result, stem+".spdx.json")
		to.wantTag(t, result.Digest)
		if diff := cmp.Diff([]string{stem + ".spdx.json"}, w.tagged(t, to)); diff != "" {
			t.Errorf("referrers (-want +got):\n%s", diff)
		}
		w.wantStored(t, to, haiku, zos)
	})
}

// tagged is like referring, but reads only the referrers tag, because [watched]
// supports only this tag.
func (w *world) tagged(t *testing.T, to *target) []string {
	t.Helper()
	documents, err := repository.Documents(t.Context(), struct{ repository.Repository }{to.open(t)}, to.digest(t))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, d := range documents {
		names = append(names, d.Name)
	}
	return names
}

// TestReferrersWhereTagsAreDigests checks that a run whose document can't be attached
// fails without tagging the release.
func TestReferrersWhereTagsAreDigests(t *testing.T) {
	t.Parallel()
	w := newWorld(t, origintest.Options{})
	to := w.registry(t, registrytest.Options{NoReferrers: http.StatusNotFound, TagsAreDigests: true})
	dir := w.dist(t, map[string]string{".spdx.json": spdx}, haiku)
	for range 2 {
		_, err := w.runLocal(t, to, dir, publish.Options{})
		if !errors.Is(err, repository.ErrNoReferrersList) {
			t.Errorf("got %v", err)
		}
		to.wantTag(t, "")
	}
	// Without documents, publishing and extending succeed.
	w.publishLocal(t, to, publish.Created, w.dist(t, nil, haiku), publish.Options{})
	w.publishLocal(t, to, publish.Extended, w.dist(t, nil, zos), publish.Options{})
	w.wantStored(t, to, haiku, zos)
}

// TestReferrersRefused checks a registry that rejects manifests with a subject.
func TestReferrersRefused(t *testing.T) {
	t.Parallel()
	w := newWorld(t, origintest.Options{})
	to := w.registry(t, registrytest.Options{})
	to.registry.Misbehave(registrytest.ManifestPut, func(rw http.ResponseWriter, r *http.Request, honest http.HandlerFunc) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		if strings.Contains(string(body), `"subject"`) {
			registrytest.Refuse(http.StatusMethodNotAllowed, "UNSUPPORTED", "The operation is unsupported")(rw, r, honest)
			return
		}
		again := r.Clone(context.WithoutCancel(r.Context()))
		again.Body = io.NopCloser(strings.NewReader(string(body)))
		honest(rw, again)
	}, -1)
	_, err := w.runLocal(t, to, w.dist(t, map[string]string{".spdx.json": spdx}, haiku), publish.Options{})
	wantText(t, err, "attaching "+stem+".spdx.json: pushing manifest", "405 Method Not Allowed, UNSUPPORTED: The operation is unsupported")
	to.wantTag(t, "")
}

// TestReferrersAreAttachedFirst checks that a run that extends a release, and can't carry
// over its documents, changes nothing. The next run carries them over.
func TestReferrersAreAttachedFirst(t *testing.T) {
	t.Parallel()
	for name, o := range map[string]registrytest.Options{"API": {}, "no API": {NoReferrers: http.StatusNotFound}} {
		for fault, kind := range map[string]registrytest.Kind{"list": registrytest.Referrers, "document": registrytest.UploadPost, "manifest": registrytest.ManifestPut} {
			if o.NoReferrers != 0 && kind == registrytest.Referrers {
				kind = registrytest.ManifestGet
			}
			t.Run(name+" "+fault, func(t *testing.T) {
				t.Parallel()
				w := newWorld(t, origintest.Options{})
				to := w.registry(t, o)
				const sbom = stem + ".spdx.json"
				w.publishLocal(t, to, publish.Created, w.dist(t, map[string]string{".spdx.json": spdx}, haiku), publish.Options{})
				was := to.digest(t)
				more := w.dist(t, nil, zos)
				for n := range 60 {
					to.registry.Misbehave(kind, registrytest.After(n, registrytest.Refuse(http.StatusServiceUnavailable, "UNAVAILABLE", "try again")), -1)
					_, err := w.runLocal(t, to, more, publish.Options{})
					to.registry.Behave()
					if to.digest(t) != was { // the tag was written, so nothing is missing
						w.wantReferring(t, to, sbom)
						return
					}
					if err == nil {
						t.Fatal("no error, and no new tag")
					}
				}
				t.Error("the tag was never written")
			})
		}
	}
}

// TestForceIsRecordedFirst checks that a run that replaces a release, and can't record the
// use of Force, changes nothing.
func TestForceIsRecordedFirst(t *testing.T) {
	t.Parallel()
	for name, o := range map[string]registrytest.Options{"API": {}, "no API": {NoReferrers: http.StatusNotFound}} {
		for _, kind := range []registrytest.Kind{registrytest.ManifestPut, registrytest.UploadPost, registrytest.Referrers} {
			t.Run(name+" "+string(kind), func(t *testing.T) {
				t.Parallel()
				w := newWorld(t, origintest.Options{})
				to := w.registry(t, o)
				w.publishLocal(t, to, publish.Created, w.dist(t, nil, haiku), publish.Options{})
				was := to.digest(t)
				w.zips[haiku] = zipOf(t, "built again")
				again := w.dist(t, nil, haiku)
				for n := range 60 {
					to.registry.Misbehave(kind, registrytest.After(n, registrytest.Refuse(http.StatusServiceUnavailable, "UNAVAILABLE", "try again")), -1)
					_, err := w.runLocal(t, to, again, publish.Options{Force: true})
					to.registry.Behave()
					now := to.digest(t)
					if moved := now != was; moved != (err == nil) {
						t.Fatalf("%d: the tag was written: %t, %v", n, moved, err)
					}
					if err != nil {
						continue
					}
					if records, err := repository.Decisions(t.Context(), to.open(t), now, artifact.DecisionForce); err != nil || len(records) != 1 {
						t.Errorf("%d: got %v, %v", n, records, err)
					}
					return
				}
				t.Error("the release was never replaced")
			})
		}
	}
}

// TestMirrorCarriesReferrers checks that referrers of an extended release are attached
// to the new index.
func TestMirrorCarriesReferrers(t *testing.T) {
	t.Parallel()
	eachLocalTarget(t, func(t *testing.T, w *world, to *target) {
		w.publish(t, to, publish.Created, publish.Options{Platforms: []provider.Platform{haiku}})
		d, _, err := to.open(t).Manifest(t.Context(), "1.2.3")
		if err != nil {
			t.Fatal(err)
		}
		document := artifact.NewDocument("audit.spdx.json", "application/spdx+json", []byte(spdx))
		if _, err := repository.Attach(t.Context(), to.open(t), []provider.Document{document}, artifact.Blob{Descriptor: d}); err != nil {
			t.Fatal(err)
		}
		wantAttached(t, w.publish(t, to, publish.Extended, publish.Options{}), "audit.spdx.json")
		w.wantReferring(t, to, "audit.spdx.json")
	})
}
