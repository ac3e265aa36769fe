package serve_test

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/opencontainers/go-digest"

	"github.com/tofu-oci/tofu-oci/internal/finding"
	"github.com/tofu-oci/tofu-oci/internal/serve"
	"github.com/tofu-oci/tofu-oci/internal/serve/access"
	"github.com/tofu-oci/tofu-oci/internal/serve/api"
	"github.com/tofu-oci/tofu-oci/internal/testing/origintest"
	"github.com/tofu-oci/tofu-oci/internal/testing/registrytest"
	"github.com/tofu-oci/tofu-oci/pkg/artifact"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
)

const (
	apiProviders = "/api/v1/providers"
	apiRocket    = apiProviders + "/registry.opentofu.org/acme/rocket"
)

// attach adds referrers to a version.
func (w *world) attach(t *testing.T, version string, documents ...provider.Document) {
	t.Helper()
	found, err := repository.Inspect(t.Context(), w.repo, version, repository.DepthIndex)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := repository.Attach(t.Context(), w.repo, documents, artifact.Blob{Descriptor: found.Descriptor}); err != nil {
		t.Fatal(err)
	}
}

const spdx = `{"spdxVersion":"SPDX-2.3","packages":[{"name":"<script>alert(1)</script>","versionInfo":"v1","licenseDeclared":"MIT"}]}`

func TestAPIProviders(t *testing.T) {
	t.Parallel()
	w := newLayout(t)
	w.push(t, rocket{version: "1.0.0"})
	w.push(t, rocket{version: "1.1.0-rc1"})
	got := document[api.Providers](t, w.api(t, apiProviders))
	want := api.Providers{Total: 1, Providers: []api.ProviderRef{{
		Address: "registry.opentofu.org/acme/rocket", Host: "registry.opentofu.org", Namespace: "acme", Type: "rocket",
		Repository: strings.Replace(w.template, "{type}", "rocket", 1), Latest: "1.0.0", URL: "https://tofu.example.com" + apiRocket,
	}}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	for search, n := range map[string]int{"rocket": 1, "ROCK+acme": 1, "rocket+nothing": 0, "%22%3E": 0} {
		if got := document[api.Providers](t, w.api(t, apiProviders+"?search="+search)); got.Total != n || len(got.Providers) != n {
			t.Errorf("%s: %+v", search, got)
		}
	}
}

// named returns n provider addresses, as if read from a file of providers.
func named(t *testing.T, n int) []provider.Address {
	t.Helper()
	var all []provider.Address
	for i := range n {
		a, err := provider.ParseAddress("acme/p" + jsonText(1000+i))
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, a)
	}
	return all
}

func TestAPIPages(t *testing.T) {
	t.Parallel()
	all := named(t, 120)
	w := newRegistry(t, func(o *serve.Options) {
		o.Providers = func() ([]provider.Address, error) { return all, nil }
	})
	var seen []string
	pages := 0
	for next := apiProviders + "?search=p1"; next != ""; pages++ {
		got := document[api.Providers](t, w.api(t, strings.TrimPrefix(next, "https://tofu.example.com")))
		if got.Total != 120 {
			t.Errorf("%d in total", got.Total)
		}
		for _, p := range got.Providers {
			seen = append(seen, p.Type)
		}
		next = got.Next
	}
	if pages != 3 || len(seen) != 120 || !slices.IsSorted(seen) || len(slices.Compact(seen)) != 120 {
		t.Errorf("%d pages, %q", pages, seen)
	}
	if requests := w.registry.Requests(); len(requests) != 0 {
		t.Errorf("requests to the registry: %v", requests)
	}
	if got := document[api.Providers](t, w.api(t, apiProviders+"?page=4")); len(got.Providers) != 0 || got.Next != "" || got.Total != 120 {
		t.Errorf("beyond the last page: %+v", got)
	}
	for _, query := range []string{"?page=0", "?page=-1", "?page=x", "?page=9999999", "?search=" + strings.Repeat("a", 201)} {
		if got := w.api(t, apiProviders+query); got.Code != http.StatusBadRequest {
			t.Errorf("%.20s: got %d", query, got.Code)
		}
	}
}

// TestAPIProvider checks the description of a provider with complete and incomplete
// releases.
func TestAPIProvider(t *testing.T) {
	t.Parallel()
	w := newRegistry(t)
	for n := range 20 {
		w.push(t, rocket{version: "1." + jsonText(n) + ".0"})
	}
	w.push(t, rocket{version: "2.0.0", key: newKey(t)})
	w.registry.Delete(t, w.repo.Capabilities().Name, w.manifestOf(t, "1.18.0", plan9))
	got := document[api.Provider](t, w.api(t, apiRocket))
	if got.Total != 21 || len(got.Versions) != 20 || got.Latest != "2.0.0" || got.Next != "https://tofu.example.com"+apiRocket+"?page=2" || got.Repository != w.repo.String() {
		t.Errorf("%+v", got)
	}
	if !strings.Contains(got.Installation, `url     = "https://tofu.example.com/mirror/"`) {
		t.Errorf("installation: %s", got.Installation)
	}
	for n, want := range map[int]api.VersionRef{
		0: {Version: "2.0.0", Status: api.StatusComplete, Platforms: []string{haiku.String(), plan9.String()}, Signed: new(true)},
		1: {Version: "1.19.0", Status: api.StatusComplete, Platforms: []string{haiku.String(), plan9.String()}, Signed: new(false)},
		2: {Version: "1.18.0", Status: api.StatusIncomplete, Platforms: []string{haiku.String(), plan9.String()}, Signed: new(false), Problem: "cannot be installed on " + plan9.String()},
	} {
		v := got.Versions[n]
		want.Tag, want.URL, want.Size = want.Version, "https://tofu.example.com"+apiRocket+"/"+want.Version, v.Size
		if diff := cmp.Diff(want, v); diff != "" || v.Size < 100 {
			t.Errorf("%s: -want +got:\n%s", want.Version, diff)
		}
	}
	second := document[api.Provider](t, w.api(t, apiRocket+"?page=2"))
	if len(second.Versions) != 1 || second.Versions[0].Version != "1.0.0" || second.Next != "" {
		t.Errorf("%+v", second)
	}
	// Cached data is not requested again.
	before := w.registry.Requests()
	w.api(t, apiRocket)
	w.api(t, apiRocket+"?page=2")
	after := w.registry.Requests()
	for kind := range after {
		// The clock doesn't advance, so even incomplete releases are not requested again.
		if n := after[kind] - before[kind]; n > 0 {
			t.Errorf("%d requests of kind %s", n, kind)
		}
	}
}

func (w *world) indexOf(t *testing.T, version string) string {
	t.Helper()
	found, err := repository.Inspect(t.Context(), w.repo, version, repository.DepthIndex)
	if err != nil {
		t.Fatal(err)
	}
	return found.Digest.String()
}

func (w *world) manifestOf(t *testing.T, version string, p provider.Platform) string {
	t.Helper()
	found, err := repository.Inspect(t.Context(), w.repo, version, repository.DepthIndex)
	if err != nil {
		t.Fatal(err)
	}
	target, _ := found.Index.Target(p)
	return target.Descriptor.Digest.String()
}

// removeBlob removes a blob from a layout.
func (w *world) removeBlob(t *testing.T, digest string) {
	t.Helper()
	if err := os.Remove(filepath.Join(w.layout, "blobs", "sha256", strings.TrimPrefix(digest, "sha256:"))); err != nil {
		t.Fatal(err)
	}
}

func TestAPIVersion(t *testing.T) {
	t.Parallel()
	w := newRegistry(t)
	digest := w.push(t, rocket{version: "1.0.0", key: newKey(t)})
	w.attach(t, "1.0.0", artifact.NewDocument("rocket.spdx.json", artifact.MediaTypeSPDX, []byte(spdx)))
	got := document[api.Version](t, w.api(t, apiRocket+"/1.0.0"))
	if got.Digest != digest.String() || got.Status != api.StatusComplete || got.Provider.Address != "registry.opentofu.org/acme/rocket" ||
		!slices.Equal(got.Protocols, []string{"5.0", "6.0"}) || len(got.Packages) != 2 || got.Unverified != "" {
		t.Errorf("%+v", got)
	}
	if got.Signature == nil || got.Signature.Verdict != "unpinned" || got.Signature.Fingerprint == "" {
		t.Errorf("%+v", got.Signature)
	}
	kinds := map[string]int{}
	for _, d := range slices.Concat(got.Documents, got.Referrers) {
		kinds[d.Kind]++
	}
	if diff := cmp.Diff(map[string]int{"checksums": 1, "signature": 1, "keys": 1, "sbom": 1}, kinds); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	for _, text := range []string{got.Packages[0].ZH, got.Packages[0].H1, `provider "registry.opentofu.org/acme/rocket" {`, `version = "1.0.0"`} {
		if text == "" || !strings.Contains(got.Lock, text) {
			t.Errorf("missing %q in %s", text, got.Lock)
		}
	}
	if !strings.Contains(got.Requirement, `rocket = {`) || !strings.Contains(got.Requirement, `source  = "acme/rocket"`) {
		t.Errorf("%s", got.Requirement)
	}
	// All URLs in the description work.
	path := func(url string) string { return strings.TrimPrefix(url, "https://tofu.example.com") }
	if zip := w.get(t, path(got.Packages[0].URL)); zip.Code != http.StatusOK || int64(zip.Body.Len()) != got.Packages[0].Size {
		t.Errorf("the archive: %d, %d bytes", zip.Code, zip.Body.Len())
	}
	for _, d := range slices.Concat(got.Documents, got.Referrers) {
		response := w.api(t, path(d.URL))
		if response.Code != http.StatusOK || int64(response.Body.Len()) != d.Size || !strings.HasPrefix(response.Header().Get("Content-Disposition"), "attachment") {
			t.Errorf("%s: %d, %d bytes, %v", d.Name, response.Code, response.Body.Len(), response.Header())
		}
	}
	// The documents are not requested again.
	before := jsonText(w.registry.Requests())
	w.api(t, apiRocket+"/1.0.0")
	if after := jsonText(w.registry.Requests()); after != before {
		t.Errorf("requests to the registry: %s, then %s", before, after)
	}
}

// TestAPIVersionWithFaults checks the descriptions of incomplete releases.
func TestAPIVersionWithFaults(t *testing.T) {
	t.Parallel()
	w := newLayout(t)
	for _, version := range []string{"1.0.0", "1.1.0", "1.2.0"} {
		w.push(t, rocket{version: version, noSums: version == "1.2.0"})
	}
	w.removeBlob(t, w.manifestOf(t, "1.0.0", haiku))
	w.removeBlob(t, w.indexOf(t, "1.1.0"))
	list := document[api.Provider](t, w.api(t, apiRocket)).Versions
	if list[1].Status != api.StatusBroken || list[1].Problem == "" || list[2].Status != api.StatusIncomplete {
		t.Errorf("%+v", list)
	}
	lacking := document[api.Version](t, w.api(t, apiRocket+"/1.0.0"))
	if lacking.Status != api.StatusIncomplete || lacking.Packages[0].Problem == "" || lacking.Packages[0].URL != "" || lacking.Packages[1].Problem != "" {
		t.Errorf("%+v", lacking)
	}
	if !slices.ContainsFunc(lacking.Findings, func(f finding.Finding) bool {
		return f.Code == "manifest-missing" && f.Severity == "error" && f.Command != ""
	}) {
		t.Errorf("%+v", lacking.Findings)
	}
	broken := document[api.Version](t, w.api(t, apiRocket+"/1.1.0"))
	if broken.Status != api.StatusBroken || broken.Problem == "" || broken.Unverified == "" {
		t.Errorf("%+v", broken)
	}
	if found := document[api.Version](t, w.api(t, apiRocket+"/1.2.0")).Findings; len(found) == 0 {
		t.Error("no findings for a release without checksums")
	}
	for path, code := range map[string]int{
		apiRocket + "/9.9.9": 404, apiRocket + "/v1.0.0": 400, apiProviders + "/registry.opentofu.org/acme/none": 404,
		apiRocket + "/1.0": 404, apiProviders + "/UP/acme/rocket": 404,
		apiRocket + "/1.0.0/documents/sha256:" + strings.Repeat("0", 64): 404, apiRocket + "/1.0.0/documents/x": 404,
	} {
		if got := w.api(t, path); got.Code != code || got.Header().Get("Content-Type") != api.ProblemType {
			t.Errorf("%s: got %d %s", path, got.Code, got.Body)
		}
	}
}

// TestAPIMissingBlobs checks that the list of versions and the details of a version show
// the same status.
func TestAPIMissingBlobs(t *testing.T) {
	t.Parallel()
	w := newLayout(t)
	for _, v := range []string{"1.0.0", "1.1.0", "1.2.0"} {
		w.push(t, rocket{version: v})
	}
	w.removeBlob(t, digest.FromBytes(rocket{version: "1.0.0"}.zipOf(plan9)).String())
	documents := document[api.Version](t, w.api(t, apiRocket+"/1.1.0")).Documents
	w.removeBlob(t, documents[0].Digest)
	w.clock.Forward(6 * time.Minute)
	want := []string{"complete: ", "incomplete: missing documents: terraform-provider-rocket_1.1.0_SHA256SUMS", "incomplete: cannot be installed on plan9_mips"}
	var listed, eventsMu []string
	for _, v := range document[api.Provider](t, w.api(t, apiRocket)).Versions {
		listed = append(listed, v.Status+": "+v.Problem)
		one := document[api.Version](t, w.api(t, apiRocket+"/"+v.Version))
		eventsMu = append(eventsMu, one.Status+": "+one.Problem)
	}
	if diff := cmp.Diff(want, listed); diff != "" {
		t.Errorf("the list: -want +got:\n%s", diff)
	}
	if diff := cmp.Diff(want, eventsMu); diff != "" {
		t.Errorf("the versions: -want +got:\n%s", diff)
	}
}

// TestAPIBlobsMissingLater checks that a cached list shows missing blobs after a few
// minutes.
func TestAPIBlobsMissingLater(t *testing.T) {
	t.Parallel()
	w := newRegistry(t)
	w.push(t, rocket{version: "1.0.0"})
	status := func() string { return document[api.Provider](t, w.api(t, apiRocket)).Versions[0].Status }
	if got := status(); got != api.StatusComplete {
		t.Fatalf("got %s", got)
	}
	heads := w.registry.Requests()[registrytest.BlobHead]
	w.registry.Misbehave(registrytest.BlobHead, origintest.Status(http.StatusNotFound), -1)
	if got := status(); got != api.StatusComplete || w.registry.Requests()[registrytest.BlobHead] != heads {
		t.Errorf("cached data was requested again: %s", got)
	}
	w.clock.Forward(6 * time.Minute)
	if got := status(); got != api.StatusIncomplete {
		t.Errorf("got %s", got)
	}
}

// TestAPIDeniedBlobs checks that a release has the status unknown if the registry denies
// access to its blobs.
func TestAPIDeniedBlobs(t *testing.T) {
	t.Parallel()
	w := newRegistry(t)
	w.push(t, rocket{version: "1.0.0"})
	w.registry.Misbehave(registrytest.BlobHead, origintest.Status(http.StatusForbidden), -1)
	listed := document[api.Provider](t, w.api(t, apiRocket)).Versions[0]
	eventsMu := document[api.Version](t, w.api(t, apiRocket+"/1.0.0"))
	if listed.Status != api.StatusUnknown || eventsMu.Status != api.StatusUnknown || listed.Problem == "" || eventsMu.Problem != listed.Problem || eventsMu.Unverified == "" {
		t.Errorf("got %+v, %+v", listed, eventsMu.VersionRef)
	}
}

// TestAPIPending checks that callers with access can list pending releases, and that
// the protocols don't serve them.
func TestAPIPending(t *testing.T) {
	t.Parallel()
	for _, open := range []bool{true, false} {
		var options []func(*serve.Options)
		if !open {
			options = append(options, guarded(t))
		}
		w := newLayout(t, options...)
		w.push(t, rocket{version: "1.0.0"})
		w.push(t, rocket{version: "1.1.0"})
		w.tag(t, "1.1.0", "pending-1.2.0")
		got := document[api.Provider](t, w.api(t, apiRocket, login...))
		if got.Total != 2 || len(got.Pending) != 1 || got.Pending[0].Version != "1.2.0" || got.Pending[0].Tag != "pending-1.2.0" ||
			got.Pending[0].Status != api.StatusPending || len(got.Pending[0].Platforms) != 2 || got.Latest != "1.1.0" {
			t.Errorf("%+v", got)
		}
		if got := w.get(t, mirrored+"index.json", login...); strings.Contains(got.Body.String(), "1.2.0") {
			t.Errorf("%s", got.Body)
		}
	}
	// Callers without a token don't see pending releases.
	w := newLayout(t, func(o *serve.Options) { o.Rules = ruled(t, everyone) })
	w.push(t, rocket{version: "1.0.0"})
	w.tag(t, "1.0.0", "pending-1.2.0")
	if got := document[api.Provider](t, w.api(t, apiRocket)); len(got.Pending) != 0 || got.Total != 1 {
		t.Errorf("%+v", got)
	}
}

// TestAPIETags checks that a request with a matching If-None-Match header results in
// 304.
func TestAPIETags(t *testing.T) {
	t.Parallel()
	w := newLayout(t)
	w.push(t, rocket{version: "1.0.0"})
	documents := document[api.Version](t, w.api(t, apiRocket+"/1.0.0")).Documents[0]
	for _, path := range []string{apiProviders, apiRocket, apiRocket + "/1.0.0", apiRocket + "/1.0.0/documents/" + documents.Digest} {
		first := w.api(t, path)
		tag := first.Header().Get("Etag")
		for _, has := range []string{tag, "W/" + tag, `"x", ` + tag, "*"} {
			if got := w.api(t, path, "If-None-Match", has); got.Code != http.StatusNotModified || got.Body.Len() != 0 || got.Header().Get("Etag") != tag || tag == "" {
				t.Errorf("%s: %s: got %d %s", path, has, got.Code, got.Body)
			}
		}
		if got := w.api(t, path, "If-None-Match", `"x"`); got.Code != http.StatusOK {
			t.Errorf("%s: got %d", path, got.Code)
		}
		head := w.ask(t, http.MethodHead, path)
		if head.Code != http.StatusOK || head.Body.Len() != 0 || head.Header().Get("Etag") != tag || head.Header().Get("Content-Length") != jsonText(first.Body.Len()) {
			t.Errorf("%s: HEAD: got %d, %v", path, head.Code, head.Header())
		}
	}
	// A new release changes the ETag.
	tag := w.api(t, apiRocket).Header().Get("Etag")
	w.push(t, rocket{version: "1.1.0"})
	w.clock.Forward(time.Hour)
	if got := w.api(t, apiRocket, "If-None-Match", tag); got.Code != http.StatusOK {
		t.Errorf("got %d", got.Code)
	}
}

// TestAPIAccess checks that the API enforces the access rules.
func TestAPIAccess(t *testing.T) {
	t.Parallel()
	all := append(named(t, 2), provider.Address{Host: provider.DefaultHost, Namespace: "hashicorp", Type: "null"})
	w := newRegistry(t, guarded(t), func(o *serve.Options) {
		o.Providers = func() ([]provider.Address, error) { return all, nil }
	})
	w.push(t, rocket{version: "1.0.0"})
	bad := []string{"Authorization", "Bearer canary-guessed"}
	for _, test := range []struct {
		path    string
		headers []string
		code    int
	}{
		{apiProviders, nil, 401}, {apiProviders, bad, 401}, {apiProviders, login, 200},
		{apiRocket, nil, 401}, {apiRocket, bad, 401}, {apiRocket, login, 200},
		{apiRocket + "/1.0.0", nil, 401}, {apiRocket + "/1.0.0", login, 200},
		{apiRocket + "/1.0.0/documents/sha256:" + strings.Repeat("0", 64), nil, 401},
		{apiProviders + "/registry.opentofu.org/hashicorp/null", login, 403},
		{apiProviders + "/registry.opentofu.org/acme/none", login, 404},
		{"/api/v1/openapi.json", nil, 200},
	} {
		got := w.api(t, test.path, test.headers...)
		if challenge := got.Header().Get("WWW-Authenticate"); got.Code != test.code || (challenge != "") != (test.code == 401) {
			t.Errorf("%s: got %d %q %s", test.path, got.Code, challenge, got.Body)
		}
		if a := w.last(); strings.Contains(got.Body.String()+a.Path+a.Caller, "canary") || !strings.HasPrefix(a.Route, "api-") {
			t.Errorf("%s: %+v %s", test.path, a, got.Body)
		}
	}
	response := w.api(t, apiProviders, login...)
	if got := document[api.Providers](t, response); got.Total != 2 || strings.Contains(response.Body.String(), "hashicorp") {
		t.Errorf("%s", response.Body)
	}
	if h := response.Header(); h.Get("Cache-Control") != "private, no-cache" || h.Get("Vary") != "Authorization" {
		t.Errorf("%v", h)
	}
	// The link to an archive contains a token.
	version := document[api.Version](t, w.api(t, apiRocket+"/1.0.0", login...))
	if got := w.get(t, strings.TrimPrefix(version.Packages[0].URL, "https://tofu.example.com")); got.Code != http.StatusOK {
		t.Errorf("the archive: %d", got.Code)
	}
}

// TestAPIOfPublishedHost checks that the providers of a published host have its host
// name.
func TestAPIOfPublishedHost(t *testing.T) {
	t.Parallel()
	w := newLayout(t, func(o *serve.Options) {
		o.Rules = ruled(t, everyone+`host "own.example.com" { repository = "`+o.From[0].String()+`" }`)
		o.Key, o.Now = access.NewArchiveKey(), present()
	})
	w.push(t, rocket{host: "registry.terraform.io", version: "1.0.0"})
	got := document[api.Providers](t, w.api(t, apiProviders))
	var addresses []string
	for _, p := range got.Providers {
		addresses = append(addresses, p.Address)
	}
	if diff := cmp.Diff([]string{"own.example.com/acme/rocket", "registry.terraform.io/acme/rocket"}, addresses); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	version := document[api.Version](t, w.api(t, apiProviders+"/own.example.com/acme/rocket/1.0.0"))
	if !strings.Contains(version.Lock, `provider "own.example.com/acme/rocket"`) || version.Installation != "" || !strings.Contains(version.Requirement, `"own.example.com/acme/rocket"`) {
		t.Errorf("%+v", version)
	}
	link := strings.TrimPrefix(version.Packages[0].URL, "https://tofu.example.com")
	if got := w.get(t, link); got.Code != http.StatusOK {
		t.Errorf("the archive: %d %s", got.Code, version.Packages[0].URL)
	}
	for _, unknown := range []string{"/-other.example.com/", "/own.example.com/"} {
		if got := w.get(t, strings.Replace(link, "/-own.example.com/", unknown, 1)); got.Code != http.StatusNotFound && got.Code != http.StatusForbidden {
			t.Errorf("%s: %d", unknown, got.Code)
		}
	}
}

// TestOpenAPI checks that the description contains all routes and no other paths.
func TestOpenAPI(t *testing.T) {
	t.Parallel()
	w := newLayout(t)
	d, err := description()
	if err != nil {
		t.Fatal(err)
	}
	routes := map[string]bool{}
	for path := range d.Paths {
		w.get(t, strings.NewReplacer("{host}", "h.example.com", "{", "", "}", "").Replace(path))
		routes[w.last().Route] = true
	}
	want := map[string]bool{
		"api-openapi": true, "api-providers": true, "api-provider": true, "api-version": true, "api-document": true,
		"api-modules": true, "api-module": true, "api-module-version": true, "api-module-document": true,
	}
	if diff := cmp.Diff(want, routes); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if got := document[map[string]any](t, w.api(t, "/api/v1/openapi.json")); got["openapi"] != "3.1.1" {
		t.Errorf("%v", got["openapi"])
	}
	// Unknown API paths return errors in the same format.
	for path, code := range map[string]int{"/api/v2/providers": 404, "/api": 404, "/api/v1/providers/x": 404} {
		var p api.Problem
		got := w.get(t, path)
		if err := json.Unmarshal(got.Body.Bytes(), &p); err != nil || got.Code != code || p.Status != code || p.Title != "Not Found" || p.Detail == "" {
			t.Errorf("%s: %d %s", path, got.Code, got.Body)
		}
	}
}

// TestAPIDecisions checks that decisions about a version are listed in order, and that a
// record about a different repository has no effect.
func TestAPIDecisions(t *testing.T) {
	t.Parallel()
	w := newLayout(t)
	w.push(t, rocket{version: "1.0.0"})
	found, err := repository.Inspect(t.Context(), w.repo, "1.0.0", repository.DepthIndex)
	if err != nil {
		t.Fatal(err)
	}
	a, err := provider.ParseAddress("acme/rocket")
	if err != nil {
		t.Fatal(err)
	}
	v, err := provider.ParseVersion("1.0.0")
	if err != nil {
		t.Fatal(err)
	}
	for i, by := range []string{"second", "first"} {
		d := repository.NewDecision(w.repo, artifact.DecisionPromote, artifact.VerdictAllow, a, v)
		d.By, d.Reason, d.Time = by, "<script>alert(1)</script>", d.Time.Add(-time.Duration(i)*time.Hour)
		if by == "first" {
			d.Repository = "ghcr.io/acme/other"
		}
		if err := repository.Record(t.Context(), w.repo, d, found.Descriptor, nil); err != nil {
			t.Fatal(err)
		}
	}
	got := document[api.Version](t, w.api(t, apiRocket+"/1.0.0")).Decisions
	if len(got) != 2 || got[0].By != "first" || !got[0].Foreign || got[1].By != "second" || got[1].Foreign {
		t.Errorf("got %+v", got)
	}
	page := w.get(t, "/providers/registry.opentofu.org/acme/rocket/1.0.0", "Accept: text/html").Body.String()
	if !strings.Contains(page, "No effect, because the decision is about a different release or repository.") || strings.Contains(page, "<script>alert") || strings.Index(page, "first") > strings.Index(page, "second") {
		t.Errorf("got %s", page)
	}
}
