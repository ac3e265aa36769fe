package serve_test

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/tofu-oci/tofu-oci/internal/serve"
	"github.com/tofu-oci/tofu-oci/internal/serve/access"
	"github.com/tofu-oci/tofu-oci/internal/serve/api"
	"github.com/tofu-oci/tofu-oci/internal/testing/patience"
	"github.com/tofu-oci/tofu-oci/pkg/artifact"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
	"github.com/tofu-oci/tofu-oci/pkg/template"
)

const (
	privateHost = "private.example.com"
	aliasHost   = "alias.example.com"
	ownHost     = "own.example.com"
	publicHost  = string(provider.DefaultHost)
	// everyHost represents access to everything. unknownHost is the host of a release
	// without a provider annotation.
	everyHost, unknownHost = "*", ""
)

// storedKind describes how acme/rocket is stored.
type storedKind struct {
	name string
	rocket
	// unannotated is the value of the --default-host flag. host is the host that the
	// access rules apply to.
	unannotated, host string
}

var storedKinds = []storedKind{
	{"annotated", rocket{}, "", publicHost},
	{"another host's", rocket{host: privateHost}, "", privateHost},
	{"unannotated", rocket{}, "", unknownHost},
	{"unannotated with --default-host", rocket{}, privateHost, privateHost},
}

// matrixCaller is a client with access to providers of some hosts.
type matrixCaller struct {
	name   string
	hosts  []string
	bearer string
}

func (c matrixCaller) may(host string) bool {
	return slices.Contains(c.hosts, everyHost) || host != unknownHost && slices.Contains(c.hosts, host)
}

// refused returns the status if access is denied.
func (c matrixCaller) refused() int {
	if c.bearer == "" {
		return http.StatusUnauthorized
	}
	return http.StatusForbidden
}

var matrixCallers = []matrixCaller{
	{"anonymous", []string{publicHost}, ""},
	{"right token", []string{publicHost, privateHost}, "canary-private"},
	{"wrong token", []string{publicHost, "other.example.com"}, "canary-other"},
	{"token for everything", []string{everyHost}, "canary-every"},
}

// matrixView is a protocol or API that serves the provider.
type matrixView struct {
	name string
	// host is the host of the request. requested is the host in the provider's address.
	host, requested string
	// shown is the host in the paths of the API and the pages. It is empty if the API
	// and the pages don't show the set.
	shown string
	// serves lists the hosts whose releases are in the set.
	serves   []string
	isMirror bool
}

var matrixViews = []matrixView{
	{"network mirror", "", publicHost, publicHost, []string{publicHost, unknownHost}, true},
	{"network mirror with --alias", "", aliasHost, aliasHost, []string{privateHost, unknownHost}, true},
	{"network mirror, missing provider", "", "none.example.com", "none.example.com", []string{unknownHost}, true},
	{"registry", "", publicHost, "", []string{publicHost, privateHost, unknownHost}, false},
	{"registry of a published host", ownHost, publicHost, ownHost, []string{publicHost, privateHost, unknownHost}, false},
}

const rocketZip = "terraform-provider-rocket_1.0.0_plan9_mips.zip"

// archivePath returns the part of an archive's path that follows /archive or
// /v1/documents.
func (v matrixView) archivePath(token string) string {
	host := v.requested
	if !v.isMirror {
		host = "-"
	}
	return "/" + token + "/" + host + "/acme/rocket/1.0.0/" + rocketZip
}

// routes maps the paths of a set to the status for callers with access.
func (v matrixView) routes(document string) map[string]int {
	paths := map[string]int{
		"/archive" + v.archivePath("-"):                                       200,
		"/v1/documents" + v.archivePath("-") + "/SHA256SUMS":                  200,
		"/v1/documents" + v.archivePath("-") + "/SHA256SUMS.sig":              200,
		"/archive" + strings.ReplaceAll(v.archivePath("-"), "1.0.0", "1.1.0"): 404,
	}
	if v.isMirror {
		paths["/mirror/"+v.requested+"/acme/rocket/index.json"] = 200
		paths["/mirror/"+v.requested+"/acme/rocket/1.0.0.json"] = 200
		paths["/mirror/"+v.requested+"/acme/rocket/1.1.0.json"] = 404
	} else {
		paths["/v1/providers/acme/rocket/versions"] = 200
		paths["/v1/providers/acme/rocket/1.0.0/download/plan9/mips"] = 200
	}
	if v.shown != "" {
		shown := v.shown + "/acme/rocket"
		for _, below := range []string{"/api/v1/providers/", "/providers/"} {
			paths[below+shown], paths[below+shown+"/1.0.0"], paths[below+shown+"/1.1.0"] = 200, 200, 404
		}
		paths["/api/v1/providers/"+shown+"/1.0.0/documents/"+document] = 200
	}
	return paths
}

// want returns the expected status of a request for a release whose stored address has
// the given host.
func (v matrixView) want(c matrixCaller, host string, allowed int) int {
	switch {
	case slices.Contains(v.serves, host) && c.may(host):
		return allowed
	case slices.Contains(v.serves, host) || !c.may(v.requested):
		return c.refused()
	}
	return http.StatusNotFound
}

// newMatrixWorld returns a server with rules and one release.
func newMatrixWorld(t *testing.T, kind storedKind) *world {
	t.Helper()
	w := &world{template: "oci-layout:" + filepath.ToSlash(t.TempDir()) + "/{namespace}/{type}"}
	w.open = func(ref template.Reference) (repository.Repository, error) {
		return repository.NewLayout(ref.Layout), nil
	}
	var rules strings.Builder
	for _, c := range matrixCallers {
		block := "anonymous {\n"
		if c.bearer != "" {
			hash := sha256.Sum256([]byte(c.bearer))
			block = fmt.Sprintf("token %q {\n  sha256 = %q\n", strings.ReplaceAll(c.name, " ", "-"), hex.EncodeToString(hash[:]))
		}
		fmt.Fprintf(&rules, "%s  allow = [%q]\n}\n", block, c.hosts[len(c.hosts)-1]+"/*/*")
	}
	fmt.Fprintf(&rules, "host %q {\n  repository = %q\n  as = %q\n}\n", ownHost, w.template, publicHost)
	alias, err := provider.ParseAlias(aliasHost + "/acme/*=" + privateHost + "/acme/*")
	if err != nil {
		t.Fatal(err)
	}
	w.start(t, []func(*serve.Options){func(o *serve.Options) {
		o.Rules, o.Key, o.Now = ruled(t, rules.String()), access.NewArchiveKey(), present()
		o.Aliases = provider.Aliases{alias}
		if kind.unannotated != "" {
			if o.Unannotated, err = provider.ParseHost(kind.unannotated); err != nil {
				t.Fatal(err)
			}
		}
	}})
	r := kind.rocket
	r.version, r.key = "1.0.0", newKey(t)
	w.push(t, r)
	if strings.HasPrefix(kind.name, "unannotated") {
		w.rewrite(t, "1.0.0", func(x *ocispec.Index) { delete(x.Annotations, artifact.AnnotationProvider) })
	}
	return w
}

// as sends a request as the given caller.
func (w *world) as(t *testing.T, c matrixCaller, v matrixView, path string) (code int, body string) {
	t.Helper()
	var headers []string
	if c.bearer != "" {
		headers = append(headers, "Authorization", "Bearer "+c.bearer)
	}
	if v.host != "" {
		headers = append(headers, "Host", v.host)
	}
	got := w.get(t, path, headers...)
	return got.Code, got.Body.String()
}

// documents returns the digest of a document of the release.
func (w *world) documents(t *testing.T) string {
	t.Helper()
	every := []string{"Authorization", "Bearer " + matrixCallers[3].bearer}
	version := document[api.Version](t, w.get(t, "/api/v1/providers/"+ownHost+"/acme/rocket/1.0.0", every...))
	if len(version.Documents) == 0 {
		t.Fatal("the release has no documents")
	}
	return version.Documents[0].Digest
}

// TestAccessMatrix checks that access depends on the address under which a release is
// stored, on every route and in every set. Without access, a response reveals neither
// this address nor a version.
func TestAccessMatrix(t *testing.T) {
	t.Parallel()
	rows := 0
	for _, kind := range storedKinds {
		w := newMatrixWorld(t, kind)
		document := w.documents(t)
		for _, v := range matrixViews {
			for path, allowed := range v.routes(document) {
				for _, c := range matrixCallers {
					rows++
					want := v.want(c, kind.host, allowed)
					code, body := w.as(t, c, v, path)
					if code != want {
						t.Errorf("%s, %s, %s: %s: got %d, want %d: %.300s", kind.name, v.name, c.name, path, code, want, body)
					}
					if !c.may(kind.host) && (strings.Contains(body, privateHost) || strings.Contains(body, "1.0.0")) {
						t.Errorf("%s, %s, %s: %s: reveals the stored address: %s", kind.name, v.name, c.name, path, body)
					}
				}
			}
		}
		for _, path := range []string{"/api/v1/providers", "/"} {
			for _, c := range matrixCallers {
				rows++
				code, body := w.as(t, c, matrixViews[0], path)
				if listed := strings.Contains(body, "rocket"); code != http.StatusOK || listed != c.may(kind.host) {
					t.Errorf("%s, %s: %s: got %d, listed: %t", kind.name, c.name, path, code, listed)
				}
			}
		}
	}
	if rows < 200 {
		t.Errorf("%d rows", rows)
	}
}

// TestAccessMatrixOfLinks checks signed links. In every set that serves the same
// release, a signed link grants access to its archive and documents without a token. It
// grants no other access.
func TestAccessMatrixOfLinks(t *testing.T) {
	t.Parallel()
	patience.SkipIfShort(t)
	every, anonymous := matrixCallers[3], matrixCallers[0]
	anonymous.hosts = nil
	for _, kind := range storedKinds {
		w := newMatrixWorld(t, kind)
		digest := w.documents(t)
		for _, v := range matrixViews {
			if !slices.Contains(v.serves, kind.host) {
				continue
			}
			token := w.linkToken(t, every, v)
			for _, other := range matrixViews {
				want := http.StatusForbidden
				if other.requested == v.requested && slices.Contains(other.serves, kind.host) {
					want = http.StatusOK
				}
				path := other.archivePath(token)
				for link, want := range map[string]int{
					"/archive" + path: want, "/v1/documents" + path + "/SHA256SUMS": want, "/v1/documents" + path + "/SHA256SUMS.sig": want,
					"/archive" + strings.ReplaceAll(path, "1.0.0", "1.1.0"): http.StatusForbidden,
				} {
					if code, body := w.as(t, anonymous, other, link); code != want {
						t.Errorf("%s: a link of the %s in the %s: %s: got %d, want %d: %.300s", kind.name, v.name, other.name, link, code, want, body)
					}
				}
			}
			// The link is not valid as a bearer token.
			for path := range v.routes(digest) {
				if code, _ := w.as(t, matrixCaller{bearer: token}, v, path); code != http.StatusUnauthorized {
					t.Errorf("%s, %s: %s: link used as a token: got %d", kind.name, v.name, path, code)
				}
			}
		}
	}
}

// linkToken returns the token in the link to the archive for a caller.
func (w *world) linkToken(t *testing.T, c matrixCaller, v matrixView) string {
	t.Helper()
	headers := []string{"Authorization", "Bearer " + c.bearer, "Host", v.host}
	if v.host == "" {
		headers = headers[:2]
	}
	var link string
	if v.isMirror {
		found := document[archives](t, w.get(t, "/mirror/"+v.requested+"/acme/rocket/1.0.0.json", headers...))
		link = found.Archives[plan9.String()].URL
	} else {
		link = document[offered](t, w.get(t, "/v1/providers/acme/rocket/1.0.0/download/plan9/mips", headers...)).DownloadURL
	}
	u, err := url.Parse(link)
	if err != nil {
		t.Fatal(err)
	}
	_, rest, found := strings.Cut(u.Path, "/archive/")
	if token, _, _ := strings.Cut(rest, "/"); found && len(token) > 20 {
		return token
	}
	t.Fatalf("no link: %s", link)
	return ""
}
