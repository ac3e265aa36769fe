package registrytest_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/opencontainers/go-digest"

	"github.com/tofu-oci/tofu-oci/internal/testing/registrytest"
)

// Two indexes without manifests.
const (
	firstIndex  = `{"schemaVersion":2,"manifests":[]}`
	secondIndex = `{"schemaVersion":2,"manifests":[],"annotations":{}}`
)

// TestProductsKeepTags checks what products do when a tag is moved and deleted.
func TestProductsKeepTags(t *testing.T) {
	t.Parallel()
	const path = "/v2/acme/thing/manifests/"
	first := digest.FromString(firstIndex).String()
	for _, test := range []struct {
		product       registrytest.Product
		move, untag   int
		firstIsStored bool
	}{
		{registrytest.Cloudflare, http.StatusCreated, http.StatusAccepted, true},
		{registrytest.Harbor, http.StatusCreated, http.StatusBadRequest, true},
		{registrytest.GHCR, http.StatusCreated, http.StatusMethodNotAllowed, true},
		{registrytest.ACR, http.StatusMethodNotAllowed, http.StatusMethodNotAllowed, true},
		{registrytest.Zot, http.StatusCreated, http.StatusAccepted, false},
	} {
		t.Run(test.product.Name, func(t *testing.T) {
			t.Parallel()
			r := test.product.New()
			for range 2 { // the same index again, which doesn't move the tag
				if got := ask(t, r, http.MethodPut, path+"1.0.0", indexType, firstIndex); got.Code != http.StatusCreated {
					t.Fatal(got.Code, got.Body)
				}
			}
			moved := ask(t, r, http.MethodPut, path+"1.0.0", indexType, secondIndex)
			deleted := ask(t, r, http.MethodDelete, path+"1.0.0", "", "")
			if stored := r.Manifest(t, "acme/thing", first) != nil; moved.Code != test.move || deleted.Code != test.untag || stored != test.firstIsStored {
				t.Errorf("%d %s, then %d %s, the first index is stored: %v", moved.Code, moved.Body, deleted.Code, deleted.Body, stored)
			}
		})
	}
}

// TestDockerHub checks that names need two levels.
func TestDockerHub(t *testing.T) {
	t.Parallel()
	for name, code := range map[string]int{"thing": http.StatusUnauthorized, "acme/thing": http.StatusAccepted, "acme/my/thing": http.StatusUnauthorized} {
		if got := ask(t, registrytest.DockerHub.New(), http.MethodPost, "/v2/"+name+"/blobs/uploads/", "", ""); got.Code != code {
			t.Errorf("%s: %d %s", name, got.Code, got.Body)
		}
	}
}

// TestGHCR checks that another host responds to requests for referrers.
func TestGHCR(t *testing.T) {
	t.Parallel()
	r := registrytest.GHCR.New()
	req := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "https://localhost:5000/v2/acme/thing/referrers/"+digest.FromString("x").String(), nil)
	w := httptest.NewRecorder()
	r.ServeHTTP(w, req)
	at := w.Header().Get("Location")
	if w.Code != http.StatusSeeOther || !strings.HasPrefix(at, "https://127.0.0.1:5000/") {
		t.Fatal(w.Code, at)
	}
	w = httptest.NewRecorder()
	r.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, at, nil))
	if w.Code != http.StatusTooManyRequests || w.Header().Get("Content-Type") != "text/html" {
		t.Error(w.Code, w.Header())
	}
}

// TestNexus checks the challenge.
func TestNexus(t *testing.T) {
	t.Parallel()
	got := ask(t, registrytest.Nexus.New(), http.MethodGet, "/v2/", "", "")
	if got.Code != http.StatusUnauthorized || !strings.HasPrefix(got.Header().Get("Www-Authenticate"), `BASIC realm="Sonatype `) {
		t.Error(got.Code, got.Header())
	}
}

// TestArtifactory checks that the tag list contains names that are not tags.
func TestArtifactory(t *testing.T) {
	t.Parallel()
	r := registrytest.Artifactory.New()
	ask(t, r, http.MethodPut, "/v2/acme/thing/manifests/1.0.0", indexType, firstIndex)
	got := ask(t, r, http.MethodGet, "/v2/acme/thing/tags/list", "", "").Body.String()
	if !strings.Contains(got, `"1.0.0"`) || !strings.Contains(got, `"sha256:`) {
		t.Error(got)
	}
}
