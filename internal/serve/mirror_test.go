package serve_test

import (
	"errors"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/opencontainers/go-digest"

	"github.com/tofu-oci/tofu-oci/internal/serve"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
	"github.com/tofu-oci/tofu-oci/pkg/sums"
	"github.com/tofu-oci/tofu-oci/pkg/template"
)

const (
	mirrored = "/mirror/registry.opentofu.org/acme/rocket/"
)

type archives struct {
	Archives map[string]struct {
		URL    string
		Hashes []string
	}
}

func TestMirror(t *testing.T) {
	t.Parallel()
	for name, w := range map[string]*world{"layout": newLayout(t), "registry": newRegistry(t)} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := rocket{version: "1.0.0+build.7"}
			w.push(t, r)
			w.push(t, rocket{version: "2.0.0-rc1"})
			got := document[map[string]map[string]struct{}](t, w.get(t, mirrored+"index.json"))
			if diff := cmp.Diff(map[string]map[string]struct{}{"versions": {"1.0.0+build.7": {}, "2.0.0-rc1": {}}}, got); diff != "" {
				t.Errorf("versions (-want +got):\n%s", diff)
			}
			if a := w.last(); a.Route != "mirror-index" || a.Repository != w.repo.String() || a.Status != http.StatusOK || a.Bytes == 0 {
				t.Errorf("events: %+v", a)
			}
			path := mirrored + "1.0.0+build.7.json"
			packages := document[archives](t, w.get(t, path)).Archives
			for _, p := range []provider.Platform{haiku, plan9} {
				zip := r.zipOf(p)
				// The index has h1 annotations, which no signature covers.
				if diff := cmp.Diff([]string{sums.ZH(digest.FromBytes(zip))}, packages[p.String()].Hashes); diff != "" {
					t.Errorf("hashes (-want +got):\n%s", diff)
				}
				at, err := (&url.URL{Scheme: "https", Host: "tofu.example.com", Path: path}).Parse(packages[p.String()].URL)
				if err != nil {
					t.Fatal(err)
				}
				response := w.get(t, at.RequestURI())
				if response.Code != http.StatusOK || response.Body.String() != string(zip) || response.Header().Get("Content-Type") != "application/zip" {
					t.Errorf("%s: got %d, %d bytes", at, response.Code, response.Body.Len())
				}
			}
		})
	}
}

// TestMirrorRequests checks the number of requests to the registry. Listing versions
// requires one list of tags and one check of the owner, and a version requires one
// index. These numbers don't depend on the number of client requests.
func TestMirrorRequests(t *testing.T) {
	t.Parallel()
	w := newRegistry(t)
	for _, version := range []string{"1.0.0", "1.1.0", "1.2.0"} {
		w.push(t, rocket{version: version})
	}
	before := w.registry.Requests()
	for range 3 {
		document[any](t, w.get(t, mirrored+"index.json"))
		document[any](t, w.get(t, mirrored+"1.1.0.json"))
	}
	after := w.registry.Requests()
	for kind, want := range map[string]int{"tags": 1, "manifest GET": 2, "blob GET": 0, "blob HEAD": 0, "manifest HEAD": 0} {
		for k, n := range after {
			if string(k) == kind && n-before[k] != want {
				t.Errorf("%d requests for %s, want %d", n-before[k], kind, want)
			}
		}
	}
}

// TestMirrorWithoutAnnotations checks artifacts of other tools, whose indexes contain
// no hashes.
func TestMirrorWithoutAnnotations(t *testing.T) {
	t.Parallel()
	w := newLayout(t)
	r := rocket{version: "1.0.0", unannotated: true}
	w.push(t, r)
	got := document[archives](t, w.get(t, mirrored+"1.0.0.json")).Archives
	if diff := cmp.Diff([]string{sums.ZH(digest.FromBytes(r.zipOf(haiku)))}, got[haiku.String()].Hashes); diff != "" {
		t.Errorf("hashes (-want +got):\n%s", diff)
	}
}

// TestMirrorHost checks a template that stores the providers of two hosts in one
// repository. A release of one host is not served for the other host.
func TestMirrorHost(t *testing.T) {
	t.Parallel()
	other := "/mirror/registry.terraform.io/acme/rocket/"
	w := newLayout(t)
	w.push(t, rocket{version: "1.0.0"})
	for _, path := range []string{"index.json", "1.0.0.json"} {
		if got := w.get(t, other+path); got.Code != http.StatusNotFound {
			t.Errorf("%s: got %d %s", path, got.Code, got.Body)
		}
		var foreign *repository.ProviderMismatchError
		if err := w.last().Err; !errors.As(err, &foreign) {
			t.Errorf("%s: events: %v", path, err)
		}
	}
	alias, err := provider.ParseAlias("registry.terraform.io/acme/*=acme/*")
	if err != nil {
		t.Fatal(err)
	}
	aliased := newLayout(t, func(o *serve.Options) { o.Aliases = provider.Aliases{alias} })
	aliased.push(t, rocket{version: "1.0.0"})
	document[any](t, aliased.get(t, other+"index.json"))
	document[any](t, aliased.get(t, other+"1.0.0.json"))
}

// TestMirrorFirstRepository checks that the first repository that contains the provider
// is used and logged.
func TestMirrorFirstRepository(t *testing.T) {
	t.Parallel()
	first, second := newRegistry(t), newLayout(t)
	w := newLayout(t, func(o *serve.Options) {
		o.From = []template.Template{parsed(t, first.template), parsed(t, second.template)}
		o.Open = func(ref template.Reference) (repository.Reader, error) {
			if ref.IsLayout() {
				return second.open(ref)
			}
			return first.open(ref)
		}
	})
	second.push(t, rocket{version: "1.0.0"})
	document[any](t, w.get(t, mirrored+"index.json"))
	if got := w.last().Repository; got != second.repo.String() {
		t.Errorf("%s: got a response", got)
	}
	// If a repository is down, the server does not use the next repository.
	w.clock.Forward(serve.DefaultMaxAge + serve.DefaultStaleIfError)
	first.registry.Misbehave("tags", status(http.StatusForbidden), -1)
	got := w.get(t, mirrored+"index.json")
	if got.Code != http.StatusBadGateway || !strings.Contains(got.Body.String(), "rejected the server's credentials") {
		t.Errorf("got %d %s", got.Code, got.Body)
	}
}

func parsed(t *testing.T, text string) template.Template {
	t.Helper()
	made, err := template.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return made
}
