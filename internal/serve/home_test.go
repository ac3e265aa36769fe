package serve_test

import (
	"errors"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/tofu-oci/tofu-oci/internal/serve"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
)

// synced returns an option for a server that shows the result of a sync.
func synced(items ...serve.SyncItem) func(*serve.Options) {
	return func(o *serve.Options) {
		o.SyncResult = func() (serve.SyncResult, error) {
			return serve.SyncResult{Finished: time.Date(2026, 11, 22, 1, 0, 0, 0, time.UTC), Items: items}, nil
		}
	}
}

// item returns an item of a result for a version 9.9.9.
func item(state serve.SyncState, address string) serve.SyncItem {
	return serve.SyncItem{State: state, Address: address, Version: "9.9.9", Reason: "too young"}
}

const ownRocket = "registry.opentofu.org/acme/rocket"

// TestHome checks the health, the result of the last sync, and the lists of versions.
func TestHome(t *testing.T) {
	t.Parallel()
	down := errors.New("down")
	w := newLayout(t, func(o *serve.Options) {
		o.Title, o.Ready = "Acme <registry>", nil
	}, synced(
		item(serve.SyncHeld, ownRocket), item(serve.SyncHeld, ownRocket), item(serve.SyncHeld, "registry.opentofu.org/acme/vpc/aws"), item(serve.SyncChanged, ownRocket),
		item(serve.SyncFailed, ownRocket), item(serve.SyncPending, "registry.opentofu.org/acme/plane"), item(serve.SyncChanged, "no address"),
	))
	w.push(t, rocket{version: "1.0.0", key: newKey(t)})
	w.push(t, rocket{version: "2.0.0", key: newKey(t), pending: true})
	for path, wants := range map[string][]string{
		"/":                   {"<bdi>Acme &lt;registry&gt;</bdi>", ">Reachable<", "2 hours ago", "1 changed", "1 failed", "1 pending", `href="/?show=held"`},
		"/?show=held":         {"2 versions", "too young", `href="/modules/registry.opentofu.org/acme/vpc/aws"`, "9.9.9"},
		"/?show=pending":      {"2 versions", `href="` + rocketPage + `/2.0.0"`, "acme/plane"},
		rocketPage:            {"Held back by the last sync", "9.9.9", "tofu-oci promote &#39;" + ownRocket + "@2.0.0&#39; --to &#39;oci-layout:"},
		rocketPage + "/2.0.0": {"Pending approval", "tofu-oci promote", "Signed, key not pinned"},
	} {
		got := w.get(t, path)
		for _, want := range wants {
			if got.Code != http.StatusOK || !strings.Contains(got.Body.String(), want) {
				t.Errorf("%s: got %d without %q: %s", path, got.Code, want, got.Body)
			}
		}
	}
	broken := newLayout(t, func(o *serve.Options) {
		o.SyncResult = func() (serve.SyncResult, error) { return serve.SyncResult{}, down }
	})
	if got := broken.get(t, "/").Body.String(); !strings.Contains(got, "Its result can't be read") {
		t.Errorf("got %s", got)
	}
}

// TestHomeAccess checks that the first page and its counts contain only what the caller
// can read.
func TestHomeAccess(t *testing.T) {
	t.Parallel()
	result := synced(
		item(serve.SyncHeld, "registry.opentofu.org/secret/one"), item(serve.SyncFailed, "registry.opentofu.org/secret/two"), item(serve.SyncPending, "registry.opentofu.org/secret/three"),
		item(serve.SyncHeld, "registry.opentofu.org/secret/module/aws"), item(serve.SyncHeld, ownRocket), item(serve.SyncChanged, ownRocket),
	)
	w := newLayout(t, guarded(t), result)
	w.push(t, rocket{version: "1.0.0", key: newKey(t)})
	for _, path := range []string{"/", "/?show=held", "/?show=pending", "/?show=recent"} {
		got := w.get(t, path, basic("me", canary)...)
		if body := got.Body.String(); got.Code != http.StatusOK || strings.Contains(body, "secret") || strings.Contains(body, "failed") || strings.Contains(body, "2 versions") {
			t.Errorf("%s: got %d %s", path, got.Code, body)
		}
	}
	if body := w.get(t, "/", basic("me", canary)...).Body.String(); !strings.Contains(body, "1 changed") || !strings.Contains(body, "1 version<") {
		t.Errorf("got %s", body)
	}
	public := newLayout(t, guarded(t), result, func(o *serve.Options) { o.Rules = ruled(t, `anonymous { allow = ["acme/*"] }`) })
	public.push(t, rocket{version: "1.0.0", key: newKey(t)})
	public.push(t, rocket{version: "2.0.0", key: newKey(t), pending: true})
	for _, path := range []string{"/", "/?show=held", "/?show=pending", rocketPage} {
		if body := public.get(t, path).Body.String(); strings.Contains(body, "9.9.9") || strings.Contains(body, "2.0.0") || strings.Contains(body, "Pending approval") {
			t.Errorf("%s: reveals versions: %s", path, body)
		}
	}
}

// TestModulePages checks the pages of a module and of its versions.
func TestModulePages(t *testing.T) {
	t.Parallel()
	w, dir := moduleWorld(t, "{namespace}/{name}/{system}")
	repo := repository.NewLayout(filepath.Join(dir, "acme", "vpc", "aws"))
	pushModule(t, repo, "1.0.0", mirroredAs(ownVPC))
	pushModule(t, repo, "pending-2.0.0", mirroredAs(ownVPC))
	const page = "/modules/registry.opentofu.org/acme/vpc/aws"
	for path, wants := range map[string][]string{
		"/modules":      {`href="` + page + `"`},
		page:            {`href="` + page + `/1.0.0"`, "Pending approval", "@2.0.0&#39;", "tofu-oci promote &#39;oci-layout:"},
		page + "/1.0.0": {"module &#34;vpc&#34; {", "version = &#34;1.0.0&#34;", "/module-archive/-/", ">Complete<", "Manifest digest"},
		page + "/2.0.0": {"Pending approval", ">Pending<"},
	} {
		got := w.get(t, path)
		for _, want := range wants {
			if got.Code != http.StatusOK || !strings.Contains(got.Body.String(), want) {
				t.Errorf("%s: got %d without %q: %s", path, got.Code, want, got.Body)
			}
		}
		checkPage(t, path, got.Header(), got.Body.String())
	}
	if got := w.get(t, page+"/2.0.0"); strings.Contains(got.Body.String(), "module-archive") {
		t.Errorf("a pending version can be downloaded: %s", got.Body)
	}
	if got := w.get(t, page+"/3.0.0"); got.Code != http.StatusNotFound {
		t.Errorf("got %d %s", got.Code, got.Body)
	}
}
