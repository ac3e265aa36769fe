package repository_test

import (
	"encoding/json"
	"errors"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/tofu-oci/tofu-oci/internal/testing/registrytest"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
)

// listUntagged changes a layout as if ORAS had written it: index.json lists all manifests,
// but referrers have no list with a tag.
func (e *end) listUntagged(t *testing.T) {
	t.Helper()
	path := filepath.Join(filepath.FromSlash(e.ref.Layout), ocispec.ImageIndexFile)
	var index ocispec.Index
	decode(t, []byte(read(t, path)), &index)
	var entries []ocispec.Descriptor
	for _, d := range index.Manifests {
		var children ocispec.Index
		decode(t, []byte(read(t, e.path(t, d.Digest))), &children)
		for _, child := range children.Manifests {
			entries = append(entries, ocispec.Descriptor{MediaType: child.MediaType, Digest: child.Digest, Size: child.Size})
		}
		if strings.HasPrefix(d.Annotations[ocispec.AnnotationRefName], "sha256-") {
			e.lose(t, d.Digest)
		} else {
			entries = append(entries, d)
		}
	}
	index.Manifests = entries
	data, err := json.Marshal(index)
	if err != nil {
		t.Fatal(err)
	}
	write(t, path, string(data))
}

// TestUntaggedReferrers checks that the referrers in a layout of ORAS are found, copied,
// and deleted.
func TestUntaggedReferrers(t *testing.T) {
	t.Parallel()
	for name, o := range endKinds {
		t.Run("copy to "+name, func(t *testing.T) {
			t.Parallel()
			from, to := newEnd(t, nil), newEnd(t, o)
			index := from.fill(t)
			want := from.content(t)
			from.listUntagged(t)
			documents, err := repository.Documents(t.Context(), from.open(t), index.Digest)
			if err != nil || len(documents) != 2 || documents[0].Name != sbom(1).Name {
				t.Errorf("got documents %v, %v", documents, err)
			}
			for range 2 {
				done, err := from.copyTo(t, to, repository.CopyOptions{})
				if err != nil || done.Referrers != 4 {
					t.Errorf("got %+v, %v", done, err)
				}
			}
			if diff := cmp.Diff(want, to.content(t)); diff != "" {
				t.Error(diff)
			}
		})
	}
	t.Run("attach", func(t *testing.T) {
		t.Parallel()
		e := newEnd(t, nil)
		index := e.fill(t)
		e.listUntagged(t)
		e.attach(t, index, sbom(1), sbom(4))
		e.attach(t, index, sbom(2))
		if found := e.referrers(t, e.open(t), index.Digest); len(found) != 3 {
			t.Errorf("the list contains %d referrers", len(found))
		}
	})
	t.Run("delete", func(t *testing.T) {
		t.Parallel()
		e := newEnd(t, nil)
		index := e.fill(t)
		referrers := e.referrers(t, e.open(t), index.Digest)
		e.listUntagged(t)
		e.prune(t)
		if err := e.deletePruned(t); err != nil {
			t.Fatal(err)
		}
		for _, d := range referrers {
			if _, _, err := e.open(t).Manifest(t.Context(), d.Digest.String()); !errors.Is(err, repository.ErrNotFound) {
				t.Errorf("a referrer: %v", err)
			}
		}
	})
	t.Run("damage", func(t *testing.T) {
		t.Parallel()
		e := newEnd(t, nil)
		index := e.fill(t)
		referrers := e.referrers(t, e.open(t), index.Digest)
		e.listUntagged(t)
		e.lose(t, referrers[0].Digest)
		write(t, e.path(t, referrers[1].Digest), "{")
		if documents, err := repository.Documents(t.Context(), e.open(t), index.Digest); err != nil || len(documents) != 0 {
			t.Errorf("got documents %v, %v", documents, err)
		}
	})
}

// TestInvalidTags checks that names that are not valid tags are omitted from tag lists and
// reported.
func TestInvalidTags(t *testing.T) {
	t.Parallel()
	invalid := []string{"sha256:" + strings.Repeat("a", 64), "-ot-beta", ".hidden", "", "a b", "a\nb", "../x", strings.Repeat("x", 129), "ghcr.io/acme/x:1.0.0", "1.0.0+1"}
	valid := []string{"1.2.3", "1.2.3_build", "_", "sha256-" + strings.Repeat("a", 64), strings.Repeat("x", 128)}
	for _, o := range []*registrytest.Options{nil, {}} {
		e := newEnd(t, o)
		var omitted []string
		e.options.Progress.Omit = func(list string, err error) { omitted = append(omitted, list+": "+err.Error()) }
		index := e.push(t, twoZips)
		for _, tag := range valid[1:] {
			e.tagAs(t, tag, index.Digest)
		}
		if e.registry != nil {
			e.registry.Misbehave(registrytest.Tags, registrytest.EditTags(func([]string) []string { return append(valid, invalid...) }), 2)
		} else {
			path := filepath.Join(filepath.FromSlash(e.ref.Layout), ocispec.ImageIndexFile)
			var listed ocispec.Index
			decode(t, []byte(read(t, path)), &listed)
			for _, name := range invalid {
				listed.Manifests = append(listed.Manifests, ocispec.Descriptor{
					MediaType: index.MediaType, Digest: index.Digest, Size: index.Size, Annotations: map[string]string{ocispec.AnnotationRefName: name},
				})
			}
			data, err := json.Marshal(listed)
			if err != nil {
				t.Fatal(err)
			}
			write(t, path, string(data))
		}
		tags, err := e.open(t).Tags(t.Context())
		if diff := cmp.Diff(valid, tags, cmp.Transformer("set", setOf)); diff != "" || err != nil {
			t.Errorf("%s, %v", diff, err)
		}
		if len(omitted) != 1 || !strings.Contains(omitted[0], e.ref.String()) || !strings.Contains(omitted[0], "sha256:aaa") {
			t.Errorf("reported %q", omitted)
		}
	}
}

func setOf(names []string) map[string]bool {
	set := map[string]bool{}
	for _, name := range names {
		set[name] = true
	}
	return set
}

// TestDeletePrunedIgnoresInvalidTags checks that invalid names in a tag list don't stop
// the deletion of a version, and are not requested.
func TestDeletePrunedIgnoresInvalidTags(t *testing.T) {
	t.Parallel()
	e := newEnd(t, &registrytest.Options{})
	e.fill(t)
	e.prune(t)
	e.registry.Misbehave(registrytest.Tags, registrytest.EditTags(func(tags []string) []string {
		return append(tags, "-ot-beta", digest.FromString("x").String())
	}), -1)
	e.registry.Misbehave(registrytest.ManifestGet, func(w http.ResponseWriter, r *http.Request, honest http.HandlerFunc) {
		if strings.HasSuffix(r.URL.Path, "-ot-beta") || strings.HasSuffix(r.URL.Path, digest.FromString("x").String()) {
			t.Errorf("got a request for %s", r.URL.Path)
		}
		honest(w, r)
	}, -1)
	if err := e.deletePruned(t); err != nil {
		t.Error(err)
	}
}
