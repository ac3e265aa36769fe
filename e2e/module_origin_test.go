package e2e_test

import (
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tofu-oci/tofu-oci/e2e/fixture"
	"github.com/tofu-oci/tofu-oci/internal/testing/gittest"
	"github.com/tofu-oci/tofu-oci/internal/testing/origintest"
)

// moduleOrigin is a module registry whose packages are in a git repository.
type moduleOrigin struct {
	// config contains host blocks that refer to the module registry.
	config string
	// gitURL is the URL of the git repository's parent directory.
	gitURL string
	// repositories serves the git repository.
	repositories http.Handler
	// stop stops the module registry and the git server.
	stop func()
}

// serveModuleOrigin starts a module registry with modules in the same form as
// nestedModules. Their packages are commits of the repository modules.git with the tags
// NAME-VERSION.
func serveModuleOrigin(t *testing.T, modules map[string]map[string]string) moduleOrigin {
	t.Helper()
	dir := t.TempDir()
	repo, err := gittest.New(t.Context(), filepath.Join(dir, "modules.git"))
	if err != nil {
		t.Fatal(err)
	}
	repositories, err := gittest.Handler(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	registry := origintest.New(origintest.Options{})
	gitURL, stopGit := serveHandler(t, repositories)
	registryURL, stopRegistry := serveHandler(t, registry)
	o := moduleOrigin{gitURL: gitURL, repositories: repositories, stop: func() {
		stopGit()
		stopRegistry()
	}}
	for module, files := range modules {
		name, version, _ := strings.Cut(module, "@")
		var entries []gittest.Entry
		for path, text := range files {
			entries = append(entries, gittest.Entry{Path: path, Content: text})
		}
		tag := name + "-" + version
		if _, err := repo.Commit(t.Context(), entries, tag); err != nil {
			t.Fatal(err)
		}
		registry.AddModule(origintest.Module{Name: "acme/" + name + "/test", Version: version, Location: "git::" + gitURL + "/modules.git?ref=" + tag})
	}
	for _, c := range clients() {
		o.config += modulesAt(c.registryHost(), registryURL+"/v1/modules/")
	}
	return o
}

// serveHandler starts a server whose certificate is from the test authority.
func serveHandler(t *testing.T, handler http.Handler) (url string, stop func()) {
	t.Helper()
	url, stop, err := fixture.Serve(t.Context(), world.ca, handler)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(stop)
	return url, stop
}

// modulesAt returns the host block that maps a host's module registry to a URL.
func modulesAt(host, url string) string {
	return fmt.Sprintf("host %q {\n  services = {\n    \"modules.v1\" = %q\n  }\n}\n", host, url)
}
