package serve_test

import (
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tofu-oci/tofu-oci/internal/gate"
	"github.com/tofu-oci/tofu-oci/internal/serve"
	"github.com/tofu-oci/tofu-oci/internal/serve/access"
	"github.com/tofu-oci/tofu-oci/internal/serve/pullthrough"
	"github.com/tofu-oci/tofu-oci/internal/testing/nouns"
	"github.com/tofu-oci/tofu-oci/internal/testing/origintest"
	"github.com/tofu-oci/tofu-oci/internal/testing/patience"
	"github.com/tofu-oci/tofu-oci/pkg/approval"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
	"github.com/tofu-oci/tofu-oci/pkg/template"
)

// pullModules returns a world that pulls modules of the namespace acme to image layouts
// in dir, with a template for each module below it.
func pullModules(t *testing.T, variables string, options ...func(*serve.Options)) (w *pullThroughWorld, dir string) {
	t.Helper()
	dir = filepath.ToSlash(t.TempDir())
	return newPullThrough(t, newLayout, append([]func(*serve.Options){withModules(t, "oci-layout:"+dir+"/"+variables), coveringModules(t)}, options...)...), dir
}

func coveringModules(t *testing.T) func(*serve.Options) {
	t.Helper()
	pattern, err := provider.ParseModulePattern("acme/*/*")
	if err != nil {
		t.Fatal(err)
	}
	return func(o *serve.Options) { o.PullThrough.Modules = []provider.ModulePattern{pattern} }
}

// offerModule adds a version of acme/vpc/aws, which the registry found at the given date,
// to the origin.
func (t *pullThroughWorld) offerModule(tb testing.TB, version, discovered string) {
	tb.Helper()
	var archive bytes.Buffer
	w := zip.NewWriter(&archive)
	file, err := w.Create("main.tf")
	if err == nil {
		_, err = file.Write([]byte("# " + version + "\n"))
	}
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		tb.Fatal(err)
	}
	t.origin.AddModule(origintest.Module{Name: "acme/vpc/aws", Version: version, Archive: archive.Bytes(), Discovered: discovered})
}

// TestPullThroughModules checks that concurrent requests for a missing version mirror it
// once, and that later requests don't contact the origin.
func TestPullThroughModules(t *testing.T) {
	t.Parallel()
	w, dir := pullModules(t, "{namespace}/{name}")
	w.offerModule(t, "1.0.0", "")
	w.offerModule(t, "1.1.0", "")
	for _, path := range []string{vpc, vpcAt, "/v1/modules/Acme/vpc/aws/"} {
		want := "1.1.0 1.0.0"
		if strings.Contains(path, "Acme") { // the origin is case-sensitive
			if got := w.get(t, path+"versions"); got.Code != http.StatusNotFound {
				t.Errorf("%s: got %d %s", path, got.Code, got.Body)
			}
			continue
		}
		if got := w.offeredVersions(t, path); got != want {
			t.Errorf("%s: got %s, want %s", path, got, want)
		}
	}
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			got, subdirectory := w.fetchLocation(t, w.get(t, vpc+"1.1.0/download"))
			if got.Code != http.StatusOK || !strings.HasPrefix(got.Body.String(), "PK\x03") || subdirectory != "" {
				t.Errorf("got %d %q", got.Code, subdirectory)
			}
		})
	}
	group.Wait()
	if e := w.end(t); e.Err != nil || e.Status != "created" || e.Address.String() != ownVPC || e.Repository != "oci-layout:"+dir+"/acme/vpc" {
		t.Errorf("%+v", e)
	}
	if n := w.origin.Requests()[origintest.ModuleArchive]; n != 1 {
		t.Errorf("the archive was fetched %d times", n)
	}
	w.origin.Misbehave(origintest.ModuleVersions, origintest.Status(500), -1)
	w.clock.Forward(time.Hour)
	if got, _ := w.fetchLocation(t, w.get(t, vpcAt+"1.1.0/download")); got.Code != http.StatusOK {
		t.Errorf("from the repository: got %d %s", got.Code, got.Body)
	}
	if got := w.offeredVersions(t, vpc); got != "1.1.0 1.0.0" { // outdated
		t.Errorf("got %s", got)
	}
	for path, code := range map[string]int{vpc + "3.0.0/download": 404, "/v1/modules/other/vpc/aws/versions": 404, "/v1/modules/registry.terraform.io/acme/vpc/aws/versions": 404} {
		if got := w.get(t, path); got.Code != code {
			t.Errorf("%s: got %d %s", path, got.Code, got.Body)
		}
	}
}

// refusedReason returns the reason in the location of a version that isn't pulled, and
// checks that its archive is not served.
func (t *pullThroughWorld) refusedReason(tb testing.TB, version string, code int) string {
	tb.Helper()
	location := t.get(tb, vpc+version+"/download").Header().Get(location)
	path, isServed := strings.CutPrefix(location, "https://tofu.example.com")
	if got := t.get(tb, path); !isServed || got.Code != code {
		tb.Errorf("%s: got %d %s", location, got.Code, got.Body)
	}
	return location
}

// TestPullThroughModuleReplicas checks that a server doesn't fetch a version again that a
// different server has mirrored after both found that it was missing.
func TestPullThroughModuleReplicas(t *testing.T) {
	t.Parallel()
	w, _ := pullModules(t, "{namespace}/{name}")
	w.offerModule(t, "1.0.0", "")
	options := w.options
	options.Events.OnPull = func(e pullthrough.Event) {
		if e.Stage != pullthrough.StageStarted {
			return
		}
		if got, _ := w.fetchLocation(t, w.get(t, vpc+"1.0.0/download")); got.Code != http.StatusOK {
			t.Errorf("first server: got %d %s", got.Code, got.Body)
		}
	}
	second, err := serve.New(options)
	if err != nil {
		t.Fatal(err)
	}
	defer second.Close()
	got := httptest.NewRecorder()
	second.ServeHTTP(got, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "https://tofu.example.com"+vpc+"1.0.0/download", nil))
	if got.Code != http.StatusNoContent {
		t.Errorf("second server: got %d %s", got.Code, got.Body)
	}
	if n := w.origin.Requests()[origintest.ModuleArchive]; n != 1 {
		t.Errorf("the archive was fetched %d times", n)
	}
}

// TestPullThroughModuleDecisions checks that denials, pending versions, the minimum age,
// and gates apply to modules.
func TestPullThroughModuleDecisions(t *testing.T) {
	t.Parallel()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	first := filepath.ToSlash(t.TempDir())
	elsewhere, err := template.ParseModule("oci-layout:" + first + "/{name}")
	if err != nil {
		t.Fatal(err)
	}
	w, dir := pullModules(t, "{name}", func(o *serve.Options) {
		o.ModulesFrom = append([]template.ModuleTemplate{elsewhere}, o.ModulesFrom...)
		o.PullThrough.Cooldown.MinAge = 72 * time.Hour
		o.PullThrough.Publish.Gates = gate.Gates{{Name: "scan", Command: []string{self, asGate, `{"verdict":"hold","reason":"no owner"}`}, Timeout: patience.Limit}}
	})
	theirs := repository.NewLayout(filepath.Join(first, "vpc"))
	for _, version := range []string{"1.0.0", "1.1.0", "1.2.0", "1.4.0"} {
		w.offerModule(t, version, "2026-01-02T03:04:05Z")
	}
	w.offerModule(t, "1.3.0", "2026-11-21T03:00:00Z")
	pushModule(t, theirs, "1.0.0", mirroredAs(ownVPC))
	pushModule(t, theirs, "pending-1.2.0", mirroredAs(ownVPC))
	pushModule(t, theirs, "1.1.0", mirroredAs(ownVPC))
	if _, err := approval.Deny(t.Context(), theirs, provider.ModuleAddress(theirs.String()), nouns.Version(t, "1.1.0"), approval.DenyOptions{Reason: "opens port 22"}); err != nil {
		t.Fatal(err)
	}
	if got := w.offeredVersions(t, vpc); got != "1.0.0 1.4.0" {
		t.Errorf("got %s", got)
	}
	for version, want := range map[string]string{
		"1.1.0": "vpc_aws_1.1.0_is_denied/", "1.2.0": "is_pending_approval/", "1.3.0": "1.3.0_is_held_back_until_2026-11-24", "1.4.0": "held_by_gate",
	} {
		if got := w.refusedReason(t, version, http.StatusForbidden); !strings.Contains(got, want) {
			t.Errorf("%s: got %s, want %s", version, got, want)
		}
	}
	tags, err := theirs.Tags(t.Context())
	if err != nil || slices.Contains(tags, "1.1.0") || !slices.Contains(tags, "pending-1.4.0") {
		t.Errorf("got %v, %v", tags, err)
	}
	if _, err := os.Stat(filepath.Join(dir, "vpc")); err == nil {
		t.Error("the second repository exists")
	}
}

// TestPullThroughModuleAccess checks that only callers with access can pull a module, and
// that a module isn't pulled to a repository with a different module.
func TestPullThroughModuleAccess(t *testing.T) {
	t.Parallel()
	hash := sha256.Sum256([]byte(canary))
	rules := "token \"ci\" {\n sha256 = \"" + hex.EncodeToString(hash[:]) + "\"\n modules = [\"acme/vpc/*\"]\n}\n"
	w, dir := pullModules(t, "{name}", func(o *serve.Options) {
		o.Rules, o.Key, o.Now = ruled(t, rules), access.NewArchiveKey(), present()
	})
	w.offerModule(t, "1.0.0", "")
	w.origin.AddModule(origintest.Module{Name: "acme/private/aws", Version: "1.0.0"})
	for path, code := range map[string]int{vpc + "versions": 401, vpc + "1.0.0/download": 401, "/module-archive/AAAA/-/acme/vpc/aws/1.0.0/vpc_1.0.0.zip": 403} {
		if got := w.get(t, path); got.Code != code {
			t.Errorf("%s: got %d %s", path, got.Code, got.Body)
		}
	}
	if got := w.get(t, "/v1/modules/acme/private/aws/1.0.0/download", login...); got.Code != http.StatusForbidden {
		t.Errorf("without access: got %d %s", got.Code, got.Body)
	}
	if n := w.origin.Requests(); len(n) != 0 {
		t.Errorf("requests to the origin: %v", n)
	}
	if got, _ := w.fetchLocation(t, w.get(t, vpc+"1.0.0/download", login...)); got.Code != http.StatusOK {
		t.Errorf("got %d %s", got.Code, got.Body)
	}
	pushModule(t, repository.NewLayout(filepath.Join(dir, "net")), "1.0.0", mirroredAs("registry.opentofu.org/other/net/aws"))
	w2 := newPullThrough(t, newLayout, withModules(t, "oci-layout:"+dir+"/{name}"), coveringModules(t))
	w2.origin.AddModule(origintest.Module{Name: "acme/net/aws", Version: "2.0.0"})
	for _, path := range []string{"versions", "2.0.0/download"} {
		if got := w2.get(t, "/v1/modules/acme/net/aws/"+path); got.Code != http.StatusNotFound || len(w2.stages()) != 0 {
			t.Errorf("a foreign repository: got %d %s", got.Code, got.Body)
		}
	}
}

// TestPullThroughModuleHostile checks that packages at unsupported locations, and archives
// that are not valid, leave nothing in the repository, and that clients don't learn the
// location.
func TestPullThroughModuleHostile(t *testing.T) {
	t.Parallel()
	for name, m := range map[string]origintest.Module{
		"a local file":   {Location: "file:///etc/passwd"},
		"a transport":    {Location: "git::ext::sh -c canary"},
		"a local git":    {Location: "git::file:///canary"},
		"an option":      {Location: "git::https://canary.example.com/vpc?ref=--upload-pack=canary"},
		"plain HTTP":     {Location: "http://canary.example.com/vpc.zip"},
		"no archive":     {Archive: []byte("canary")},
		"no location":    {},
		"a layout":       {Location: "oci-layout:/canary"},
		"a subdirectory": {Location: "https://canary.example.com/vpc.zip//../canary"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, dir := pullModules(t, "{name}")
			m.Name, m.Version = "acme/vpc/aws", "1.0.0"
			w.origin.AddModule(m)
			got := w.refusedReason(t, "1.0.0", http.StatusBadGateway)
			if !strings.Contains(got, "mirroring_registry.opentofu.org_acme_vpc_aws_1.0.0_from_its_origin_registry_failed") || strings.Contains(got, "canary") {
				t.Errorf("got %s", got)
			}
			w.end(t)
			if _, err := os.Stat(filepath.Join(dir, "vpc", "index.json")); err == nil {
				t.Error("the repository has content")
			}
		})
	}
}
