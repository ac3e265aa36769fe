package registrytest_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/opencontainers/go-digest"

	"github.com/tofu-oci/tofu-oci/internal/testing/origintest"
	"github.com/tofu-oci/tofu-oci/internal/testing/registrytest"
)

const (
	manifestType = "application/vnd.oci.image.manifest.v1+json"
	indexType    = "application/vnd.oci.image.index.v1+json"
)

func ask(t *testing.T, r http.Handler, method, path, mediaType, body string) *httptest.ResponseRecorder {
	t.Helper()
	req := httptest.NewRequestWithContext(t.Context(), method, path, strings.NewReader(body))
	req.Header.Set("Content-Type", mediaType)
	w := httptest.NewRecorder()
	r.ServeHTTP(w, req)
	return w
}

func upload(t *testing.T, r http.Handler, repository, content string) {
	t.Helper()
	begun := ask(t, r, http.MethodPost, "/v2/"+repository+"/blobs/uploads/", "", "")
	done := ask(t, r, http.MethodPut, begun.Header().Get("Location")+"?digest="+digest.FromString(content).String(), "application/octet-stream", content)
	if begun.Code != http.StatusAccepted || done.Code != http.StatusCreated {
		t.Fatalf("uploading: %d, then %d %s", begun.Code, done.Code, done.Body)
	}
}

// named returns a text's descriptor.
func named(content string) string {
	return fmt.Sprintf(`{"mediaType":%q,"digest":%q,"size":%d}`, manifestType, digest.FromString(content), len(content))
}

// TestManifestsMustBeComplete checks that an index's manifests, and a manifest's config
// and layers, must exist. A subject can be missing.
func TestManifestsMustBeComplete(t *testing.T) {
	t.Parallel()
	manifest := `{"schemaVersion":2,"config":` + named("there") + `,"layers":[]}`
	for name, test := range map[string]struct {
		mediaType, manifest string
		lacks               string
	}{
		"whole":                {manifestType, `{"config":` + named("there") + `,"layers":[` + named("there") + `]}`, ""},
		"no config":            {manifestType, `{"config":` + named("gone") + `,"layers":[` + named("there") + `]}`, "gone"},
		"no layer":             {manifestType, `{"config":` + named("there") + `,"layers":[` + named("there") + `,` + named("gone") + `]}`, "gone"},
		"layer elsewhere":      {manifestType, `{"config":` + named("there") + `,"layers":[` + named("elsewhere") + `]}`, "elsewhere"},
		"layer is a manifest":  {manifestType, `{"config":` + named(manifest) + `,"layers":[]}`, manifest},
		"no subject":           {manifestType, `{"config":` + named("there") + `,"layers":[],"subject":` + named("gone") + `}`, ""},
		"index":                {indexType, `{"schemaVersion":2,"manifests":[` + named(manifest) + `]}`, ""},
		"empty index":          {indexType, `{"schemaVersion":2,"manifests":[]}`, ""},
		"index without one":    {indexType, `{"schemaVersion":2,"manifests":[` + named(manifest) + `,` + named("gone") + `]}`, "gone"},
		"index of a blob":      {indexType, `{"schemaVersion":2,"manifests":[` + named("there") + `]}`, "there"},
		"of an unknown type":   {"application/x", `{"layers":[` + named("gone") + `]}`, "gone"},
		"nothing can be named": {"application/x", `no JSON`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := registrytest.New(registrytest.Options{})
			upload(t, r, "acme/thing", "there")
			upload(t, r, "acme/other", "elsewhere")
			if got := ask(t, r, http.MethodPut, "/v2/acme/thing/manifests/1.0.0", manifestType, manifest); got.Code != http.StatusCreated {
				t.Fatal(got.Code, got.Body)
			}
			got := ask(t, r, http.MethodPut, "/v2/acme/thing/manifests/2.0.0", test.mediaType, test.manifest)
			stored := ask(t, r, http.MethodGet, "/v2/acme/thing/manifests/2.0.0", "", "")
			switch {
			case test.lacks == "":
				if got.Code != http.StatusCreated || stored.Body.String() != test.manifest {
					t.Errorf("%d %s, then %d %s", got.Code, got.Body, stored.Code, stored.Body)
				}
			case got.Code != http.StatusBadRequest || stored.Code != http.StatusNotFound ||
				!strings.Contains(got.Body.String(), "MANIFEST_BLOB_UNKNOWN") || !strings.Contains(got.Body.String(), digest.FromString(test.lacks).String()):
				t.Errorf("%d %s, then %d", got.Code, got.Body, stored.Code)
			}
		})
	}
}

// TestLaxRegistry checks that a lax registry accepts a manifest that refers to missing
// content.
func TestLaxRegistry(t *testing.T) {
	t.Parallel()
	r := registrytest.New(registrytest.Options{Lax: true})
	got := ask(t, r, http.MethodPut, "/v2/acme/thing/manifests/1.0.0", manifestType, `{"config":`+named("gone")+`,"layers":[]}`)
	if got.Code != http.StatusCreated {
		t.Error(got.Code, got.Body)
	}
}

// TestDeletedBlobs checks that manifests cannot refer to deleted blobs.
func TestDeletedBlobs(t *testing.T) {
	t.Parallel()
	r := registrytest.New(registrytest.Options{})
	upload(t, r, "acme/thing", "there")
	manifest := `{"config":` + named("there") + `,"layers":[]}`
	r.Delete(t, "acme/thing", digest.FromString("there").String())
	if got := ask(t, r, http.MethodPut, "/v2/acme/thing/manifests/1.0.0", manifestType, manifest); got.Code != http.StatusBadRequest {
		t.Error(got.Code, got.Body)
	}
	r.AddBlob("acme/thing", digest.FromString("there").String(), []byte("there"))
	if got := ask(t, r, http.MethodPut, "/v2/acme/thing/manifests/1.0.0", manifestType, manifest); got.Code != http.StatusCreated {
		t.Error(got.Code, got.Body)
	}
}

func TestMount(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		options registrytest.Options
		from    string
		blob    string
		mounted bool
	}{
		"mounted":             {registrytest.Options{}, "acme/other", "there", true},
		"not there":           {registrytest.Options{}, "acme/other", "gone", false},
		"in another one":      {registrytest.Options{}, "acme/third", "there", false},
		"refused":             {registrytest.Options{NoMount: true}, "acme/other", "there", false},
		"no such repository":  {registrytest.Options{NoCreate: true}, "acme/other", "there", false},
		"login is asked for":  {registrytest.Options{Username: "user", Password: "password"}, "acme/other", "there", false},
		"no repository named": {registrytest.Options{}, "", "there", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := registrytest.New(test.options)
			r.AddBlob("acme/other", digest.FromString("there").String(), []byte("there"))
			wanted := digest.FromString(test.blob).String()
			got := ask(t, r, http.MethodPost, "/v2/acme/thing/blobs/uploads/?mount="+wanted+"&from="+test.from, "", "")
			if (got.Code == http.StatusCreated) != test.mounted || r.HasBlob("acme/thing", wanted) != test.mounted {
				t.Errorf("%d %s, there: %v", got.Code, got.Body, r.HasBlob("acme/thing", wanted))
			}
			if n := r.Requests(); n[registrytest.Mount] != 1 || n[registrytest.UploadPost] != 0 || r.Writes() != 1 {
				t.Errorf("requests: %v", n)
			}
			if got.Code != http.StatusAccepted {
				return
			}
			// The failed mount started an upload.
			done := ask(t, r, http.MethodPut, got.Header().Get("Location")+"?digest="+wanted, "application/octet-stream", test.blob)
			if done.Code != http.StatusCreated || !r.HasBlob("acme/thing", wanted) {
				t.Errorf("%d %s", done.Code, done.Body)
			}
		})
	}
}

// TestFaults checks the stored content and the response for each fault.
func TestFaults(t *testing.T) {
	t.Parallel()
	const content = "there"
	named := digest.FromString(content).String()
	for name, test := range map[string]struct {
		fault  func(r *registrytest.Registry) origintest.Fault
		code   int
		stored bool
		says   string
	}{
		"lost":       {(*registrytest.Registry).Lose, http.StatusCreated, false, named},
		"misnamed":   {(*registrytest.Registry).Misname, http.StatusCreated, false, digest.FromString(named).String()},
		"unanswered": {func(*registrytest.Registry) origintest.Fault { return registrytest.Unanswered() }, 0, true, ""},
		"taken":      {func(*registrytest.Registry) origintest.Fault { return registrytest.Take(-1, origintest.Reset(0)) }, 0, false, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := registrytest.New(registrytest.Options{})
			s := httptest.NewTLSServer(r)
			t.Cleanup(s.Close)
			r.Misbehave(registrytest.UploadPut, test.fault(r), 1)
			begun := ask(t, r, http.MethodPost, "/v2/acme/thing/blobs/uploads/", "", "")
			req, err := http.NewRequestWithContext(t.Context(), http.MethodPut, s.URL+begun.Header().Get("Location")+"?digest="+named, strings.NewReader(content))
			if err != nil {
				t.Fatal(err)
			}
			code, says := 0, ""
			if resp, err := s.Client().Do(req); err == nil {
				code, says = resp.StatusCode, resp.Header.Get("Docker-Content-Digest")
				_ = resp.Body.Close()
			}
			if code != test.code || says != test.says || r.HasBlob("acme/thing", named) != test.stored {
				t.Errorf("%d, %q, stored: %v", code, says, r.HasBlob("acme/thing", named))
			}
		})
	}
}

func TestForget(t *testing.T) {
	t.Parallel()
	r := registrytest.New(registrytest.Options{})
	r.Misbehave(registrytest.ManifestPut, registrytest.Forget(), 1)
	put := ask(t, r, http.MethodPut, "/v2/acme/thing/manifests/1.0.0", indexType, `{"schemaVersion":2,"manifests":[]}`)
	if put.Code != http.StatusCreated || r.Manifest(t, "acme/thing", "1.0.0") != nil {
		t.Error(put.Code, put.Body)
	}
}

func TestElsewhere(t *testing.T) {
	t.Parallel()
	r := registrytest.New(registrytest.Options{})
	r.Misbehave(registrytest.UploadPost, registrytest.Elsewhere("uploads.example"), 1)
	begun := ask(t, r, http.MethodPost, "/v2/acme/thing/blobs/uploads/", "", "")
	if at := begun.Header().Get("Location"); begun.Code != http.StatusAccepted || !strings.HasPrefix(at, "https://uploads.example/v2/acme/thing/blobs/uploads/") {
		t.Errorf("%d %q", begun.Code, at)
	}
}
