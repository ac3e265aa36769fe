package serve_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/tofu-oci/tofu-oci/internal/serve"
	"github.com/tofu-oci/tofu-oci/internal/serve/access"
	"github.com/tofu-oci/tofu-oci/internal/serve/api"
	"github.com/tofu-oci/tofu-oci/internal/testing/nouns"
	"github.com/tofu-oci/tofu-oci/pkg/approval"
	"github.com/tofu-oci/tofu-oci/pkg/artifact"
	"github.com/tofu-oci/tofu-oci/pkg/module"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
	"github.com/tofu-oci/tofu-oci/pkg/template"
)

const (
	vpc      = "/v1/modules/acme/vpc/aws/"
	vpcAt    = "/v1/modules/registry.opentofu.org/acme/vpc/aws/"
	ownVPC   = "registry.opentofu.org/acme/vpc/aws"
	location = "X-Terraform-Get"
)

// withModules adds a template for modules in image layouts.
func withModules(t *testing.T, text string) func(*serve.Options) {
	t.Helper()
	from, err := template.ParseModule(text)
	if err != nil {
		t.Fatal(err)
	}
	return func(o *serve.Options) { o.ModulesFrom = append(o.ModulesFrom, from) }
}

// moduleWorld returns a world with a layout for each module below a directory.
func moduleWorld(t *testing.T, variables string, options ...func(*serve.Options)) (w *world, dir string) {
	t.Helper()
	dir = filepath.ToSlash(t.TempDir())
	return newLayout(t, append([]func(*serve.Options){withModules(t, "oci-layout:"+dir+"/"+variables)}, options...)...), dir
}

// pushModule stores a version of a module.
func pushModule(t *testing.T, repo repository.Repository, tag string, annotations map[string]string) (zip []byte, d digest.Digest) {
	t.Helper()
	zip = bytes.Repeat([]byte("module "+tag+"\n"), 20)
	v := nouns.Version(t, strings.TrimPrefix(tag, "pending-"))
	p := provider.Package{Version: v, Filename: "vpc_" + v.String() + ".zip", Digest: digest.FromBytes(zip), Size: int64(len(zip))}
	packed, err := artifact.Pack(provider.Release{Address: provider.ModuleAddress(repo.String()), Version: v, Packages: []provider.Package{p}}, artifact.Options{Annotations: annotations})
	if err != nil {
		t.Fatal(err)
	}
	if err := repo.PushBlob(t.Context(), artifact.ZipDescriptor(p), bytes.NewReader(zip)); err != nil {
		t.Fatal(err)
	}
	for _, document := range packed.Documents {
		if err := repo.PushBlob(t.Context(), ocispec.Descriptor{MediaType: document.MediaType, Digest: document.Digest, Size: document.Size}, bytes.NewReader(document.Bytes)); err != nil {
			t.Fatal(err)
		}
	}
	if err := repo.PushTag(t.Context(), packed.Index, tag, ""); err != nil {
		t.Fatal(err)
	}
	return zip, packed.Index.Descriptor.Digest
}

// mirroredAs returns the annotations of a mirrored module.
func mirroredAs(address string) map[string]string {
	return map[string]string{artifact.AnnotationModule: address}
}

type moduleVersions struct {
	Modules []struct{ Versions []struct{ Version string } }
}

// offeredVersions returns the versions of a module, separated by spaces.
func (w *world) offeredVersions(t *testing.T, path string, headers ...string) string {
	t.Helper()
	list := document[moduleVersions](t, w.get(t, path+"versions", headers...))
	if len(list.Modules) != 1 || list.Modules[0].Versions == nil {
		t.Fatalf("got %+v", list)
	}
	var all []string
	for _, v := range list.Modules[0].Versions {
		all = append(all, v.Version)
	}
	return strings.Join(all, " ")
}

// fetchLocation downloads the archive that a response refers to, as clients do.
func (w *world) fetchLocation(t *testing.T, response *httptest.ResponseRecorder) (*httptest.ResponseRecorder, string) {
	t.Helper()
	at, subdirectory, _ := strings.Cut(strings.Replace(response.Header().Get(location), "://", ":", 1), "//")
	u, err := url.Parse(strings.Replace(at, ":", "://", 1))
	if err != nil || response.Code != http.StatusNoContent || !strings.HasSuffix(u.Path, ".zip") {
		t.Fatalf("%v: got %d %v %s", err, response.Code, response.Header(), response.Body)
	}
	return w.get(t, u.RequestURI(), "Host", u.Host), subdirectory
}

// TestModules downloads a module with each form of the module registry protocol.
func TestModules(t *testing.T) {
	t.Parallel()
	w, dir := moduleWorld(t, "{namespace}/{name}/{system}")
	repo := repository.NewLayout(filepath.Join(dir, "acme", "vpc", "aws"))
	zip, _ := pushModule(t, repo, "1.0.0", mirroredAs(ownVPC))
	annotations := mirroredAs(ownVPC)
	annotations[artifact.AnnotationModuleSubdirectory] = "modules/net"
	pushModule(t, repo, "1.1.0", annotations)
	pushModule(t, repo, "pending-2.0.0", mirroredAs(ownVPC))
	if got := document[map[string]string](t, w.get(t, "/.well-known/terraform.json"))["modules.v1"]; got != "https://tofu.example.com/v1/modules/" {
		t.Errorf("discovery: got %q", got)
	}
	for _, path := range []string{vpc, vpcAt, "/v1/modules/Acme/VPC/aws/"} {
		if got := w.offeredVersions(t, path); got != "1.1.0 1.0.0" {
			t.Errorf("%s: got %s", path, got)
		}
		got, subdirectory := w.fetchLocation(t, w.get(t, path+"1.0.0/download"))
		if got.Code != http.StatusOK || !bytes.Equal(got.Body.Bytes(), zip) || got.Header().Get("Content-Type") != "application/zip" || subdirectory != "" {
			t.Errorf("%s: got %d %v %q", path, got.Code, got.Header(), subdirectory)
		}
		if a := w.last(); a.Route != "module-archive" || a.Repository != repo.String() {
			t.Errorf("event: %+v", a)
		}
	}
	if _, subdirectory := w.fetchLocation(t, w.get(t, vpc+"1.1.0/download")); subdirectory != "modules/net" {
		t.Errorf("got subdirectory %q", subdirectory)
	}
	archive := "/module-archive/-/-/acme/vpc/aws/1.0.0/"
	if got := w.get(t, archive+"vpc_1.0.0.zip", "Range", "bytes=10-19"); got.Code != http.StatusPartialContent || got.Body.String() != string(zip[10:20]) {
		t.Errorf("range: got %d %q", got.Code, got.Body)
	}
	for path, code := range map[string]int{
		vpc + "2.0.0/download": 404, vpc + "1.0/download": 404, vpc + "x/download": 400, "/v1/modules/acme/vpn/aws/versions": 404,
		"/v1/modules/registry.terraform.io/acme/vpc/aws/versions": 404, "/v1/modules/a..b/vpc/aws/versions": 404, "/v1/modules/acme/vpc/AWS_/versions": 404,
		archive + "vpc_1.1.0.zip": 404, archive + "aws_1.0.0.zip": 404,
	} {
		if got := w.get(t, path); got.Code != code {
			t.Errorf("%s: got %d %s", path, got.Code, got.Body)
		}
	}
}

// TestModuleRepositories checks which repository is used for a module.
func TestModuleRepositories(t *testing.T) {
	t.Parallel()
	first, second := filepath.ToSlash(t.TempDir()), filepath.ToSlash(t.TempDir())
	w := newLayout(t, withModules(t, "oci-layout:"+first+"/{name}"), withModules(t, "oci-layout:"+second+"/{hostname}/{namespace}/{name}/{system}"))
	// The first repository belongs to a different module, so the second one is used.
	pushModule(t, repository.NewLayout(filepath.Join(first, "vpc")), "9.0.0", mirroredAs("registry.opentofu.org/other/vpc/aws"))
	pushModule(t, repository.NewLayout(filepath.Join(second, "registry.opentofu.org", "acme", "vpc", "aws")), "1.0.0", mirroredAs(ownVPC))
	pushModule(t, repository.NewLayout(filepath.Join(second, "registry.terraform.io", "acme", "vpc", "aws")), "2.0.0", nil)
	for path, want := range map[string]string{vpc: "1.0.0", vpcAt: "1.0.0", "/v1/modules/registry.terraform.io/acme/vpc/aws/": "2.0.0", "/v1/modules/other/vpc/aws/": "9.0.0"} {
		if got := w.offeredVersions(t, path); got != want {
			t.Errorf("%s: got %s, want %s", path, got, want)
		}
	}
	// A provider, an invalid address, and an invalid subdirectory are not served.
	w.push(t, rocket{version: "1.0.0"})
	w2 := newLayout(t, withModules(t, "oci-layout:"+filepath.ToSlash(filepath.Dir(w.layout))+"/rocket"))
	if got := w2.get(t, vpc+"1.0.0/download"); got.Code != http.StatusBadGateway {
		t.Errorf("a provider: got %d %s", got.Code, got.Body)
	}
	for _, bad := range []string{"../x", "/x", "a?archive=tgz", "*", "a//b"} {
		annotations := mirroredAs(ownVPC)
		annotations[artifact.AnnotationModuleSubdirectory] = bad
		w, dir := moduleWorld(t, "{name}")
		pushModule(t, repository.NewLayout(filepath.Join(dir, "vpc")), "1.0.0", annotations)
		if got := w.get(t, vpc+"1.0.0/download"); got.Code != http.StatusBadGateway || got.Header().Get(location) != "" {
			t.Errorf("%s: got %d %v", bad, got.Code, got.Header())
		}
	}
}

// TestOCIModules checks which clients are referred to the registry.
func TestOCIModules(t *testing.T) {
	t.Parallel()
	w := newRegistry(t, func(o *serve.Options) {
		from, err := template.ParseModule(strings.TrimSuffix(o.From[0].String(), "{type}") + "{name}")
		if err != nil {
			t.Fatal(err)
		}
		o.ModulesFrom, o.OCIModules = []template.ModuleTemplate{from}, true
	})
	ref, err := template.ParseReference(strings.Replace(w.template, "{type}", "vpc", 1))
	if err != nil {
		t.Fatal(err)
	}
	repo, err := w.open(ref)
	if err != nil {
		t.Fatal(err)
	}
	annotations := mirroredAs(ownVPC)
	annotations[artifact.AnnotationModuleSubdirectory] = "net"
	_, d := pushModule(t, repo, "1.0.0", annotations)
	for agent, isOCI := range map[string]bool{
		"OpenTofu/1.12.6 (+https://www.opentofu.org)": true, "OpenTofu/1.10.0": true, "OpenTofu/2.0.0": true, "OpenTofu/1.9.1": false, "OpenTofu/1.8.0 x": false,
		"HashiCorp Terraform/1.5.7 (+https://www.terraform.io)": false, "": false, "evil OpenTofu/1.12.6": false,
	} {
		got := w.get(t, vpc+"1.0.0/download", "User-Agent", agent)
		want := "https://tofu.example.com/module-archive/-/-/acme/vpc/aws/1.0.0/vpc_1.0.0.zip//net"
		if isOCI {
			want = "oci://" + ref.String() + "//net?digest=" + d.String()
		}
		if got.Header().Get(location) != want || got.Header().Get("Vary") != "User-Agent" {
			t.Errorf("%s: got %d %v", agent, got.Code, got.Header())
		}
	}
	// Tags and manifests are cached, so subsequent requests don't reach the registry.
	before := w.registry.Requests()
	w.offeredVersions(t, vpc)
	if diff := cmp.Diff(before, w.registry.Requests()); diff != "" {
		t.Errorf("sent requests (-want +got):\n%s", diff)
	}
}

// TestModuleAccess checks that the rules apply to the address that a module is stored
// as, and that links are valid only for one archive.
func TestModuleAccess(t *testing.T) {
	t.Parallel()
	hash := sha256.Sum256([]byte(canary))
	rules := "token \"ci\" {\n sha256 = \"" + hex.EncodeToString(hash[:]) + "\"\n allow = [\"*/*/*\"]\n modules = [\"acme/*/*\"]\n}\n"
	w, dir := moduleWorld(t, "{name}/{system}", func(o *serve.Options) {
		o.Rules, o.Key, o.Now = ruled(t, rules), access.NewArchiveKey(), present()
	})
	layout := func(name string) repository.Repository { return repository.NewLayout(filepath.Join(dir, name, "aws")) }
	zip, _ := pushModule(t, layout("vpc"), "1.0.0", mirroredAs(ownVPC))
	pushModule(t, layout("vpc"), "1.1.0", mirroredAs(ownVPC))
	pushModule(t, layout("private"), "1.0.0", mirroredAs("private.example.com/acme/private/aws"))
	pushModule(t, layout("unknown"), "1.0.0", nil)
	for _, test := range []struct {
		path    string
		headers []string
		code    int
	}{
		{vpc + "versions", nil, 401}, {vpc + "versions", login, 200}, {vpc + "1.0.0/download", nil, 401}, {vpc + "1.0.0/download", login, 204},
		{vpcAt + "versions", nil, 401}, {vpcAt + "versions", login, 200}, {vpcAt + "1.0.0/download", nil, 401},
		{vpc + "versions", []string{"Authorization", "Bearer canary-guessed"}, 401},
		{"/v1/modules/acme/private/aws/versions", login, 403}, {"/v1/modules/acme/private/aws/1.0.0/download", login, 403},
		{"/v1/modules/private.example.com/acme/private/aws/versions", login, 403},
		{"/v1/modules/acme/unknown/aws/versions", login, 403}, {"/v1/modules/acme/unknown/aws/1.0.0/download", login, 403},
		{"/v1/modules/other/none/aws/versions", login, 403}, {"/v1/modules/acme/none/aws/versions", login, 404},
		{"/module-archive/-/-/acme/vpc/aws/1.0.0/vpc_1.0.0.zip", nil, 401}, {"/module-archive/-/-/acme/vpc/aws/1.0.0/vpc_1.0.0.zip", login, 200},
		{"/module-archive/AAAA/-/acme/vpc/aws/1.0.0/vpc_1.0.0.zip", login, 403},
	} {
		got := w.get(t, test.path, test.headers...)
		if got.Code != test.code || strings.Contains(got.Body.String(), "canary") || strings.Contains(got.Body.String(), "private.example.com") && !strings.Contains(test.path, "private.example.com") {
			t.Errorf("%s: got %d %s", test.path, got.Code, got.Body)
		}
	}
	response := w.get(t, vpc+"1.0.0/download", login...)
	if got, _ := w.fetchLocation(t, response); got.Code != http.StatusOK || !bytes.Equal(got.Body.Bytes(), zip) {
		t.Errorf("got %d %s", got.Code, got.Body)
	}
	if a := w.last(); a.Caller != "ci" || a.Path != "/module-archive/…/-/acme/vpc/aws/1.0.0/vpc_1.0.0.zip" {
		t.Errorf("event: %+v", a)
	}
	link := strings.TrimPrefix(response.Header().Get(location), "https://tofu.example.com")
	for _, path := range []string{
		strings.ReplaceAll(link, "1.0.0", "1.1.0"), strings.Replace(link, "/-/", "/registry.opentofu.org/", 1), strings.ReplaceAll(link, "vpc", "private"),
	} {
		want := http.StatusForbidden
		if strings.Contains(path, "opentofu") {
			want = http.StatusOK // the same module
		}
		if got := w.get(t, path); got.Code != want {
			t.Errorf("%s: got %d %s", path, got.Code, got.Body)
		}
	}
	// The link is only valid as long as the module is stored under the same address.
	if diff := cmp.Diff([]string{"1.1.0 1.0.0"}, []string{w.offeredVersions(t, vpc, login...)}); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// TestModulesOfPublishedHost checks that a published host has its own modules.
func TestModulesOfPublishedHost(t *testing.T) {
	t.Parallel()
	dir := filepath.ToSlash(t.TempDir())
	host := `host "own.example.com" {
  repository = "oci-layout:` + dir + `/providers/{type}"
  modules    = "oci-layout:` + dir + `/own/{name}"
}
host "none.example.com" { repository = "oci-layout:` + dir + `/providers/{type}" }
anonymous { modules = ["own.example.com/*/*/*"] }
`
	w := newLayout(t, withModules(t, "oci-layout:"+dir+"/all/{name}"), func(o *serve.Options) {
		o.Rules, o.Key, o.Now = ruled(t, host), access.NewArchiveKey(), present()
	})
	pushModule(t, repository.NewLayout(filepath.Join(dir, "own", "vpc")), "1.0.0", mirroredAs("own.example.com/acme/vpc/aws"))
	pushModule(t, repository.NewLayout(filepath.Join(dir, "all", "vpc")), "2.0.0", mirroredAs(ownVPC))
	if got := w.offeredVersions(t, vpc, "Host", "own.example.com"); got != "1.0.0" {
		t.Errorf("got %s", got)
	}
	response := w.get(t, vpc+"1.0.0/download", "Host", "own.example.com")
	if got, _ := w.fetchLocation(t, response); got.Code != http.StatusOK {
		t.Errorf("got %d %s", got.Code, got.Body)
	}
	if got := w.get(t, vpc+"versions"); got.Code != http.StatusUnauthorized {
		t.Errorf("got %d", got.Code)
	}
	for host, want := range map[string]bool{"own.example.com": true, "none.example.com": false, "tofu.example.com": true} {
		if _, has := document[map[string]string](t, w.get(t, "/.well-known/terraform.json", "Host", host))["modules.v1"]; has != want {
			t.Errorf("%s offers modules: %t", host, has)
		}
	}
}

// TestModuleAPI checks the lists of modules and versions, and that they contain only
// modules that the caller can read.
func TestModuleAPI(t *testing.T) {
	t.Parallel()
	const modules, details = "/api/v1/modules", "/api/v1/modules/registry.opentofu.org/acme/vpc/aws"
	hash := sha256.Sum256([]byte(canary))
	rules := "token \"ci\" {\n sha256 = \"" + hex.EncodeToString(hash[:]) + "\"\n modules = [\"acme/*/*\"]\n}\n"
	w, dir := moduleWorld(t, "{namespace}/{name}/{system}", func(o *serve.Options) {
		o.Rules, o.Key, o.Now = ruled(t, rules), access.NewArchiveKey(), present()
	})
	layout := func(path string) repository.Repository {
		return repository.NewLayout(filepath.Join(dir, filepath.FromSlash(path)))
	}
	annotations := mirroredAs(ownVPC)
	annotations[ocispec.AnnotationRevision], annotations[artifact.AnnotationModuleOrigin] = "0123abc", "git::https://git.example.com/vpc"
	zip, d := pushModule(t, layout("acme/vpc/aws"), "1.0.0", annotations)
	pushModule(t, layout("acme/vpc/aws"), "0.9.0", mirroredAs("registry.opentofu.org/other/vpc/aws"))
	pushModule(t, layout("acme/vpc/aws"), "pending-2.0.0", mirroredAs(ownVPC))
	pushModule(t, layout("other/vpc/aws"), "1.0.0", mirroredAs("registry.opentofu.org/other/vpc/aws"))
	pushModule(t, layout("acme/unknown/aws"), "1.0.0", nil)
	for _, test := range []struct {
		path    string
		headers []string
		code    int
	}{
		{modules, nil, 401}, {modules, login, 200}, {modules + "?page=0", login, 400}, {details, nil, 401},
		{"/api/v1/modules/registry.opentofu.org/other/vpc/aws", login, 403}, {"/api/v1/modules/registry.opentofu.org/acme/none/aws", login, 404},
	} {
		if got := w.api(t, test.path, test.headers...); got.Code != test.code {
			t.Errorf("%s: got %d %s", test.path, got.Code, got.Body)
		}
	}
	ref := api.ModuleRef{Address: ownVPC, Repository: layout("acme/vpc/aws").String(), Latest: "1.0.0", URL: "https://tofu.example.com" + details}
	for search, want := range map[string]api.Modules{
		"":            {Modules: []api.ModuleRef{ref}, Total: 1},
		"?search=VPC": {Modules: []api.ModuleRef{ref}, Total: 1},
		"?search=gcp": {Modules: []api.ModuleRef{}},
	} {
		if diff := cmp.Diff(want, document[api.Modules](t, w.api(t, modules+search, login...))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", search, diff)
		}
	}
	for path, want := range map[string]string{"/modules?search=vpc": `href="/modules/` + ownVPC + `"`, "/modules/" + ownVPC: "git::https://git.example.com/vpc", "/": `href="/modules"`} {
		page := w.get(t, path, login...)
		if body := page.Body.String(); page.Code != http.StatusOK || !strings.Contains(body, want) || strings.Contains(body, "other/vpc") {
			t.Errorf("%s: got %d %s", path, page.Code, body)
		}
		if got := w.get(t, path); got.Code != http.StatusUnauthorized || !strings.Contains(got.Body.String(), "Log in") {
			t.Errorf("%s without a token: got %d", path, got.Code)
		}
	}
	got := document[api.Module](t, w.api(t, details, login...))
	if len(got.Versions) != 2 || got.Versions[1].ZipURL != "" || got.Versions[1].Digest != "" || got.Versions[1].Problem == "" || strings.Contains(got.Versions[1].Problem, "other") {
		t.Fatalf("got %+v", got)
	}
	if p := got.Pending; len(p) != 1 || p[0].Version != "2.0.0" || p[0].Tag != "pending-2.0.0" || p[0].Status != api.StatusPending || p[0].Digest == "" || p[0].ZipURL != "" {
		t.Errorf("pending: %+v", p)
	}
	archive := w.get(t, strings.TrimPrefix(got.Versions[0].ZipURL, "https://tofu.example.com"))
	if archive.Code != http.StatusOK || !bytes.Equal(archive.Body.Bytes(), zip) {
		t.Errorf("the archive: %d %s", archive.Code, got.Versions[0].ZipURL)
	}
	want := api.Module{
		ModuleRef: ref, Total: 2, Pending: got.Pending, Denied: got.Denied, Versions: got.Versions,
		Installation: "host \"registry.opentofu.org\" {\n  services = {\n    \"modules.v1\" = \"https://tofu.example.com/v1/modules/registry.opentofu.org/\"\n  }\n}\n",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	version := api.ModuleVersion{
		Version: "1.0.0", Tag: "1.0.0", Status: api.StatusComplete, Digest: d.String(), Zip: digest.FromBytes(zip).String(), Size: int64(len(zip)), Revision: "0123abc",
		Origin: "git::https://git.example.com/vpc", ZipURL: got.Versions[0].ZipURL, URL: "https://tofu.example.com" + details + "/1.0.0",
	}
	if diff := cmp.Diff(version, got.Versions[0]); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// TestModuleReleaseAPI checks the details of versions: documents, findings, and decisions.
func TestModuleReleaseAPI(t *testing.T) {
	t.Parallel()
	w, dir := moduleWorld(t, "{name}")
	repo := repository.NewLayout(filepath.Join(dir, "vpc"))
	bom := []byte(`{"spdxVersion": "SPDX-2.3", "packages": [{"name": "part", "versionInfo": "v1.0.0"}]}`)
	for _, version := range []string{"1.0.0", "1.1.0", "1.2.0"} {
		_, err := module.Push(t.Context(), repo, module.Package{
			Name: "vpc", Version: nouns.Version(t, version), Annotations: mirroredAs(ownVPC),
			Files:     []module.File{moduleFile("main.tf", "# "+version)},
			Documents: []provider.Document{artifact.NewDocument("vpc.spdx.json", artifact.MediaTypeSPDX, bom)},
		}, module.PushOptions{Stage: version == "1.2.0"})
		if err != nil {
			t.Fatal(err)
		}
	}
	address := provider.ModuleAddress(repo.String())
	if _, err := approval.Deny(t.Context(), repo, address, nouns.Version(t, "1.1.0"), approval.DenyOptions{Reason: "opens port 22", By: "jane"}); err != nil {
		t.Fatal(err)
	}
	const details = "/api/v1/modules/" + ownVPC
	release := func(version string) api.ModuleRelease {
		return document[api.ModuleRelease](t, w.api(t, details+"/"+version))
	}
	got := release("1.0.0")
	if got.Status != api.StatusComplete || got.Problem != "" || got.Module.Address != ownVPC || len(got.Documents) != 1 || got.Signature == nil || got.Unverified != "" ||
		got.Requirement != "module \"vpc\" {\n  source  = \"acme/vpc/aws\"\n  version = \"1.0.0\"\n}\n" {
		t.Fatalf("got %+v", got)
	}
	path := func(u string) string { return strings.TrimPrefix(u, "https://tofu.example.com") }
	if body := w.api(t, path(got.Documents[0].URL)); !bytes.Equal(body.Body.Bytes(), bom) || body.Header().Get("Content-Type") != artifact.MediaTypeSPDX {
		t.Errorf("the document: %d %v %s", body.Code, body.Header(), body.Body)
	}
	if body := w.api(t, path(got.Documents[0].URL), "Range", "bytes=5-"); body.Code != http.StatusOK || !bytes.Equal(body.Body.Bytes(), bom) {
		t.Errorf("a range of the document: %d %s", body.Code, body.Body)
	}
	denied, pending := release("1.1.0"), release("1.2.0")
	if d := denied.Decisions; denied.Status != api.StatusDenied || denied.ZipURL != "" || len(d) != 1 || d[0].Reason != "opens port 22" || d[0].By != "jane" || d[0].Foreign {
		t.Errorf("denied: %+v", denied)
	}
	if pending.Status != api.StatusPending || pending.Digest == "" || pending.ZipURL != "" || pending.Unverified == "" {
		t.Errorf("pending: %+v", pending)
	}
	if body := w.get(t, vpc+"9.0.0/download").Body.String(); !strings.Contains(body, "1.0.0") {
		t.Errorf("a missing version: %s", body)
	}
	// A version whose zip is missing has a problem.
	if err := os.Remove(filepath.Join(dir, "vpc", "blobs", "sha256", digest.Digest(got.Zip).Encoded())); err != nil {
		t.Fatal(err)
	}
	w.clock.Forward(time.Hour)
	if got := release("1.0.0"); got.Status != api.StatusIncomplete || got.Problem == "" || len(got.Findings) == 0 {
		t.Errorf("without its zip: %+v", got)
	}
	if list := document[api.Module](t, w.api(t, details)); len(list.Versions) != 1 || list.Versions[0].Status != api.StatusIncomplete || list.Versions[0].Problem != "cannot be installed" {
		t.Errorf("the list without its zip: %+v", list)
	}
	for path, code := range map[string]int{"/9.0.0": 404, "/1.0": 404, "/1.0.0/documents/sha256:" + strings.Repeat("0", 64): 404, "/1.1.0/documents/" + got.Documents[0].Digest: 404} {
		if got := w.api(t, details+path); got.Code != code {
			t.Errorf("%s: got %d %s", path, got.Code, got.Body)
		}
	}
	w = newLayout(t, withModules(t, "oci-layout:"+dir+"/{name}"), func(o *serve.Options) { o.Rules = ruled(t, "anonymous { modules = [\"*/*/*/*\"] }\n") })
	for _, path := range []string{"/1.1.0", "/1.2.0"} {
		if got := w.api(t, details+path); got.Code != http.StatusNotFound {
			t.Errorf("%s without a token: got %d", path, got.Code)
		}
	}
}

func moduleFile(path, content string) module.File {
	return module.File{Path: path, Size: int64(len(content)), Open: func(context.Context) (io.ReadCloser, error) { return io.NopCloser(strings.NewReader(content)), nil }}
}
