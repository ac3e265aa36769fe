package serve_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/tofu-oci/tofu-oci/internal/serve"
	"github.com/tofu-oci/tofu-oci/internal/serve/api"
	"github.com/tofu-oci/tofu-oci/internal/testing/origintest"
	"github.com/tofu-oci/tofu-oci/internal/testing/registrytest"
	"github.com/tofu-oci/tofu-oci/pkg/artifact"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
	"github.com/tofu-oci/tofu-oci/pkg/template"
)

const script = "</script><script>alert(1)</script>\u202e"

// rewrite replaces the index of a version.
func (w *world) rewrite(t *testing.T, version string, change func(*ocispec.Index)) {
	t.Helper()
	d, data, err := w.repo.Manifest(t.Context(), version)
	if err != nil {
		t.Fatal(err)
	}
	var index ocispec.Index
	if err := json.Unmarshal(data, &index); err != nil {
		t.Fatal(err)
	}
	change(&index)
	changed, err := json.Marshal(index)
	if err != nil {
		t.Fatal(err)
	}
	d.Digest, d.Size = digest.FromBytes(changed), int64(len(changed))
	if err := w.repo.PushTag(t.Context(), artifact.Blob{Descriptor: d, Bytes: changed}, version, digest.Digest(w.indexOf(t, version))); err != nil {
		t.Fatal(err)
	}
}

// TestAPIWithHostileText checks that untrusted text in a release is escaped and truncated.
func TestAPIWithHostileText(t *testing.T) {
	t.Parallel()
	w := newLayout(t)
	for _, version := range []string{"0.9.0", "1.0.0", "1.1.0"} {
		w.push(t, rocket{version: version})
	}
	w.rewrite(t, "1.0.0", func(x *ocispec.Index) {
		x.Annotations["io.github.tofu-oci.protocols"] = script + strings.Repeat(",5.0", 250_000)
		x.Annotations[ocispec.AnnotationCreated] = script
		x.Annotations["org.example.long"] = strings.Repeat("<b>", 1<<20/15)
	})
	w.rewrite(t, "1.1.0", func(x *ocispec.Index) {
		x.Annotations[ocispec.AnnotationCreated] = "2024-02-29T12:00:00+01:00"
		x.Annotations[artifact.AnnotationProvider] = "registry.opentofu.org/acme/rocket"
	})
	w.rewrite(t, "0.9.0", func(x *ocispec.Index) { x.Annotations[artifact.AnnotationProvider] = script })
	w.attach(t, "1.0.0",
		artifact.NewDocument("x.spdx.json", artifact.MediaTypeSPDX, []byte(`{"spdxVersion":"`+strings.Repeat("x", 1<<20)+`","packages":[{"name":"`+strings.Repeat("n", 1<<20)+`"}]}`)),
		artifact.NewDocument("no.spdx.json", artifact.MediaTypeSPDX, []byte(`<html>`)),
		artifact.NewDocument("page.html", "text/html", []byte("<script>alert(1)</script>")))
	for _, path := range []string{apiProviders, apiRocket, apiRocket + "/1.0.0"} {
		got := w.api(t, path)
		if text := got.Body.String(); got.Code != http.StatusOK || len(text) > 50_000 || strings.ContainsAny(text, "<>\u2028") {
			t.Errorf("%s: got %d, %d bytes", path, got.Code, len(text))
		}
	}
	version := document[api.Version](t, w.api(t, apiRocket+"/1.0.0"))
	if len(version.Protocols) != 16 || version.Published != nil {
		t.Errorf("%d protocols, %v", len(version.Protocols), version.Published)
	}
	if dated := document[api.Version](t, w.api(t, apiRocket+"/1.1.0")); dated.Published == nil || dated.Published.Format(time.RFC3339) != "2024-02-29T11:00:00Z" {
		t.Errorf("%v", dated.Published)
	}
	if got := w.api(t, apiRocket+"/0.9.0"); got.Code != http.StatusNotFound { // this release belongs to a different provider
		t.Errorf("got %d", got.Code)
	}
	if len(version.Referrers) != 3 {
		t.Fatalf("%+v", version.Referrers)
	}
	// Browsers must not render a document as a page of this server.
	page := w.api(t, strings.TrimPrefix(version.Referrers[1].URL, "https://tofu.example.com")).Header()
	if page.Get("Content-Type") != "application/octet-stream" || page.Get("Content-Disposition") != "attachment; filename=page.html" ||
		page.Get("X-Content-Type-Options") != "nosniff" || !strings.Contains(page.Get("Content-Security-Policy"), "sandbox") {
		t.Errorf("%v", page)
	}
}

// TestAPIWithHostileCatalog checks that invalid repository names are ignored, and that
// errors contain no text from the registry.
func TestAPIWithHostileCatalog(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		names []string
		err   error
		code  int
		want  string
	}{
		"names": {
			[]string{"acme/" + script, "acme/../x", "acme/a\nb", "evil.example.com/acme/x", strings.Repeat("a/", 10_000), "acme/UP", ""},
			nil, 200, `"total":0`,
		},
		"no catalog": {nil, &repository.Error{Registry: "r.example.com", Err: fmt.Errorf("%w: internal.example.com says canary", repository.ErrNoCatalog)}, 200, "does not let this server list its repositories; list their providers in a file, and start the server with --sources FILE"},
		"down":       {nil, errors.New("internal.example.com is down"), 502, "cannot read the repository; see the server log"},
	} {
		w := newRegistry(t, func(o *serve.Options) {
			o.Catalog = func(context.Context, template.Reference) ([]string, error) { return test.names, test.err }
		})
		got := w.api(t, apiProviders)
		if text := got.Body.String(); got.Code != test.code || !strings.Contains(text, test.want) || strings.Contains(text, "internal") {
			t.Errorf("%s: got %d %s", name, got.Code, text)
		}
	}
}

// TestAPIStale checks that cached data is served while the registry is down.
func TestAPIStale(t *testing.T) {
	t.Parallel()
	w := newRegistry(t, func(o *serve.Options) {
		o.Catalog = func(context.Context, template.Reference) ([]string, error) { return []string{"acme/rocket"}, nil }
	})
	w.push(t, rocket{version: "1.0.0"})
	paths := []string{apiProviders, apiRocket, apiRocket + "/1.0.0"}
	for _, path := range paths {
		document[any](t, w.api(t, path))
	}
	for _, kind := range []registrytest.Kind{registrytest.Tags, registrytest.ManifestGet, registrytest.ManifestHead, registrytest.BlobGet, registrytest.BlobHead, registrytest.Referrers} {
		w.registry.Misbehave(kind, status(http.StatusServiceUnavailable), -1)
	}
	w.clock.Forward(time.Hour)
	for _, path := range paths[1:] {
		got := w.api(t, path)
		if got.Code != http.StatusOK || !strings.Contains(got.Body.String(), `"stale":true`) || got.Header().Get("Warning") == "" {
			t.Errorf("%s: got %d %v %s", path, got.Code, got.Header(), got.Body)
		}
	}
}

// TestAPIUnresponsiveRegistry checks that a release has the status unknown if the
// registry doesn't respond, and that the other releases are still listed.
func TestAPIUnresponsiveRegistry(t *testing.T) {
	t.Parallel()
	w := newRegistry(t)
	w.push(t, rocket{version: "1.0.0"})
	w.push(t, rocket{version: "1.1.0"})
	lost := w.manifestOf(t, "1.0.0", haiku)
	w.registry.Misbehave(registrytest.ManifestGet, func(response http.ResponseWriter, r *http.Request, honest http.HandlerFunc) {
		if strings.HasSuffix(r.URL.Path, lost) {
			origintest.Status(http.StatusServiceUnavailable)(response, r, honest)
			return
		}
		honest(response, r)
	}, -1)
	got := document[api.Provider](t, w.api(t, apiRocket)).Versions
	if got[0].Status != api.StatusComplete || got[1].Status != api.StatusUnknown || got[1].Problem == "" {
		t.Errorf("%+v", got)
	}
	if got := w.api(t, apiRocket+"/1.0.0"); got.Code != http.StatusBadGateway || got.Header().Get("Retry-After") == "" {
		t.Errorf("got %d %s", got.Code, got.Body)
	}
}

// TestAPIDocumentWithWrongDigest checks that a document with a wrong digest is not sent
// completely.
func TestAPIDocumentWithWrongDigest(t *testing.T) {
	t.Parallel()
	w := newRegistry(t)
	w.push(t, rocket{version: "1.0.0"})
	d := document[api.Version](t, w.api(t, apiRocket+"/1.0.0")).Documents[0]
	w.registry.AddBlob(w.repo.Capabilities().Name, d.Digest, bytes.Repeat([]byte("x"), int(d.Size)))
	defer func() {
		if recover() == nil && w.last().Status == http.StatusOK {
			t.Error("the response looks complete")
		}
	}()
	w.get(t, strings.TrimPrefix(d.URL, "https://tofu.example.com"))
}
