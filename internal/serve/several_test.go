package serve_test

import (
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tofu-oci/tofu-oci/internal/serve"
	"github.com/tofu-oci/tofu-oci/internal/serve/api"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
	"github.com/tofu-oci/tofu-oci/pkg/template"
)

// over serves the repositories of several worlds in order.
func over(t *testing.T, worlds ...*world) func(*serve.Options) {
	t.Helper()
	var from []template.Template
	for _, w := range worlds {
		from = append(from, parsed(t, w.template))
	}
	return func(o *serve.Options) { o.From = from }
}

// TestRepositoriesOfOneName checks that a repository with the provider of a different
// host doesn't hide the next repository on any route.
func TestRepositoriesOfOneName(t *testing.T) {
	t.Parallel()
	const terraform = "registry.terraform.io/acme/rocket"
	first, second := newLayout(t), newLayout(t)
	w := newLayout(t, over(t, first, second))
	first.push(t, rocket{version: "1.0.0", key: newKey(t)})
	second.push(t, rocket{host: "registry.terraform.io", version: "2.0.0"})
	for path, want := range map[string]string{
		mirrored + "index.json":                first.repo.String(),
		"/v1/providers/acme/rocket/versions":   first.repo.String(),
		"/mirror/" + terraform + "/index.json": second.repo.String(),
		"/mirror/" + terraform + "/2.0.0.json": second.repo.String(),
		strings.NewReplacer("registry.opentofu.org", "registry.terraform.io", "1.0.0", "2.0.0").Replace(archive): second.repo.String(),
		"/api/v1/providers/" + terraform:            second.repo.String(),
		"/api/v1/providers/" + terraform + "/2.0.0": second.repo.String(),
		"/providers/" + terraform:                   second.repo.String(),
		"/providers/" + terraform + "/2.0.0":        second.repo.String(),
	} {
		if got := w.get(t, path); got.Code != http.StatusOK || w.last().Repository != want {
			t.Errorf("%s: got %d from %q, want %s: %.300s", path, got.Code, w.last().Repository, want, got.Body)
		}
	}
	var listed []string
	for _, p := range document[api.Providers](t, w.get(t, apiProviders)).Providers {
		listed = append(listed, p.Address+" "+p.Latest+" "+p.Repository)
	}
	want := []string{"registry.opentofu.org/acme/rocket 1.0.0 " + first.repo.String(), terraform + " 2.0.0 " + second.repo.String()}
	if diff := cmp.Diff(want, listed); diff != "" {
		t.Errorf("providers (-want +got):\n%s", diff)
	}
	// A repository belongs to its host even if all of its releases are denied.
	first.tag(t, "1.0.0", "denied-1.0.0")
	w.clock.Forward(serve.DefaultMaxAge)
	if got := w.get(t, "/mirror/"+terraform+"/index.json"); got.Code != http.StatusOK || w.last().Repository != second.repo.String() {
		t.Errorf("after a denial: got %d from %q", got.Code, w.last().Repository)
	}
	// The hosts of the first and the last repository differ from the requested host.
	var foreign *repository.ProviderMismatchError
	if got := w.get(t, "/mirror/registry.example.com/acme/rocket/index.json"); got.Code != http.StatusNotFound || !errors.As(w.last().Err, &foreign) {
		t.Errorf("got %d, told %v", got.Code, w.last().Err)
	}
}

// TestLinkStoredAddress checks that a link isn't valid for the same path in a different
// set, because the path can refer to a different release there.
func TestLinkStoredAddress(t *testing.T) {
	t.Parallel()
	private, public := newLayout(t), newLayout(t)
	w := newLayout(t, guarded(t), over(t, private, public))
	private.push(t, rocket{host: privateHost, version: "1.0.0"})
	public.push(t, rocket{version: "1.0.0"})
	link := w.link(t)
	if got := w.get(t, link); got.Code != http.StatusOK || w.last().Repository != public.repo.String() {
		t.Fatalf("got %d from %s", got.Code, w.last().Repository)
	}
	if got := w.get(t, strings.Replace(link, "/registry.opentofu.org/", "/-/", 1)); got.Code != http.StatusForbidden || w.last().Refused != "link" {
		t.Errorf("the private release: got %d %s", got.Code, w.last().Refused)
	}
}

// TestRepositoryOfTwoHosts checks a repository with releases of two hosts. Each release
// is visible only to callers with access to it.
func TestRepositoryOfTwoHosts(t *testing.T) {
	t.Parallel()
	w := newLayout(t, guarded(t))
	k := newKey(t)
	w.push(t, rocket{version: "1.2.0", key: k})
	w.push(t, rocket{host: privateHost, version: "1.1.0", key: k})
	w.push(t, rocket{host: privateHost, version: "1.0.5"}) // omitted because this release is unsigned
	w.push(t, rocket{version: "1.0.0", key: k})
	list := document[listed](t, w.get(t, "/v1/providers/acme/rocket/versions", login...))
	if got := list.versions(); !slices.Equal(got, []string{"1.2.0", "1.0.0"}) || list.Warnings != nil {
		t.Errorf("got %q, %q", got, list.Warnings)
	}
	for _, path := range []string{
		"/v1/providers/acme/rocket/1.1.0/download/plan9/mips",
		strings.NewReplacer("registry.opentofu.org", "-", "1.0.0", "1.1.0").Replace(archive),
	} {
		if got := w.get(t, path, login...); got.Code != http.StatusForbidden {
			t.Errorf("%s: got %d", path, got.Code)
		}
	}
	for _, path := range []string{mirrored + "1.1.0.json", apiRocket + "/1.1.0", apiRocket, rocketPage} {
		if got := w.get(t, path, login...); strings.Contains(got.Body.String(), privateHost) {
			t.Errorf("%s: got %s", path, got.Body)
		}
	}
}

// TestPendingOfAnotherHost checks that a pending release is visible only to callers
// with access to that release. Access to other releases in its repository is not
// enough.
func TestPendingOfAnotherHost(t *testing.T) {
	t.Parallel()
	w := newLayout(t, guarded(t))
	w.push(t, rocket{version: "1.0.0"})
	w.push(t, rocket{host: privateHost, version: "0.9.0"})
	w.tag(t, "1.0.0", "pending-2.0.0")
	w.tag(t, "0.9.0", "pending-3.0.0")
	got := document[api.Provider](t, w.get(t, apiRocket, login...))
	if len(got.Pending) != 1 || got.Pending[0].Version != "2.0.0" {
		t.Errorf("got %+v", got.Pending)
	}
}
