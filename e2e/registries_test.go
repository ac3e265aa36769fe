//go:build unix

package e2e_test

import (
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"text/tabwriter"

	"github.com/tofu-oci/tofu-oci/e2e/fixture"
	"github.com/tofu-oci/tofu-oci/internal/testing/origintest"
	"github.com/tofu-oci/tofu-oci/internal/testing/registrytest"
)

// product is a registry, or a kind of repository, with which all steps are tried.
type product struct {
	name string
	// start starts an empty registry. If nil, the repositories are image layouts. With
	// creates, the directory created contains a directory for each repository that exists.
	start func(t *testing.T, created string) http.Handler
	// path is the repository template without the host. The placeholder {area} separates the
	// steps' repositories. If empty, "{area}/{namespace}/{type}" is used.
	path string
	// username and password are the registry's credentials. If empty, the registry requires
	// none.
	username, password string
	// creates lets tofu-oci create missing repositories.
	creates bool
	// lacks lists the checks of doctor --probe that fail, separated by spaces.
	lacks string
	// limits maps names of steps to the limitations of the product that make them fail.
	limits map[string]limit
}

// limit describes what users see because of a limitation of a product.
type limit struct {
	reason string
	code   int
	// says is part of the output: what to do, or the consequence.
	says string
}

// imitated returns a product that runs in the test's process.
func imitated(p registrytest.Product, lacks string, limits map[string]limit) product {
	return product{
		name: p.Name, start: func(*testing.T, string) http.Handler { return p.New() },
		username: p.Options.Username, password: p.Options.Password, lacks: lacks, limits: limits,
	}
}

// products lists the products of TestRegistries. Package registrytest names the public
// sources of what the imitated products do differently.
func products() []product {
	threeLevels := imitated(registrytest.DockerHub, "", map[string]limit{"mirror": {"names have two levels", 6, "401 Unauthorized"}})
	threeLevels.name += ", three levels"
	hub := imitated(registrytest.DockerHub, "delete-tag delete-manifest", nil)
	hub.path = "{area}/{namespace}-{type}"
	ecr := imitated(registrytest.ECR, "move-tag", map[string]limit{
		"extend": {"tags can't be moved", 1, "hint: publish all platforms of a version in one run"},
		"sync":   {"tags can't be moved", 3, "hint: exempt the tag tofu-oci-sync"},
	})
	ecr.start, ecr.creates = startECR, true
	return []product{
		{name: "distribution 3", start: startDistribution("")},
		{name: "distribution 3, only images", start: startDistribution("policy: {repository: {classes: [image]}}\n")},
		{name: "docker-registry 2.8", start: startDockerRegistry, lacks: "delete-tag"},
		{name: "crane registry serve", start: startCrane},
		{name: "image layouts"},
		imitated(registrytest.GHCR, "delete-tag delete-manifest", nil),
		imitated(registrytest.GitLab, "referrers document decision", map[string]limit{
			"promote": {"releases can't have referrers", 1, "promote without --reason and --by"},
			"publish": {"releases can't have referrers", 1, "publish or copy with --no-referrers"},
		}),
		ecr,
		imitated(registrytest.Harbor27, "delete-tag", nil),
		imitated(registrytest.Harbor, "delete-tag", nil),
		imitated(registrytest.Quay, "", map[string]limit{"mirror": {"only types of images and Helm charts are allowed", 1, "hint: allow the refused media type in the registry"}}),
		imitated(registrytest.QuayAnyType, "", nil),
		imitated(registrytest.ACR, "move-tag delete-tag", map[string]limit{
			"extend": {"tags can't be moved", 1, "hint: publish all platforms of a version in one run"},
			"deny":   {"tags can be neither deleted nor moved", 3, "but tofu init can still install this version; use --overwrite, or delete the tag 1.1.0"},
			"sync":   {"tags can be neither deleted nor moved", 3, "hint: exempt the tag tofu-oci-sync"},
		}),
		imitated(registrytest.Artifactory, "", nil),
		imitated(registrytest.Nexus, "", nil),
		hub,
		threeLevels,
		imitated(registrytest.Zot, "", nil),
		imitated(registrytest.Cloudflare, "manifest-head", map[string]limit{
			"init":   {"OpenTofu requires the length of manifests in responses to HEAD", 1, "unknown response Content-Length"},
			"doctor": {"OpenTofu requires the length of manifests in responses to HEAD", 1, "OpenTofu requires the size and the digest of the manifest"},
		}),
	}
}

func startDistribution(more string) func(t *testing.T, created string) http.Handler {
	return func(t *testing.T, _ string) http.Handler {
		t.Helper()
		return registryProxy("https://" + startRegistryWith(t, more))
	}
}

// startDockerRegistry starts the registry of the Debian package docker-registry.
func startDockerRegistry(t *testing.T, _ string) http.Handler {
	t.Helper()
	program, err := exec.LookPath("docker-registry")
	if err != nil {
		t.Fatalf("%v: install the Debian package docker-registry, or run .ci/run nightly e2e", err)
	}
	dir := t.TempDir()
	write(t, filepath.Join(dir, "config.yml"), fmt.Sprintf(`version: 0.1
log: {level: error, accesslog: {disabled: true}}
storage:
  filesystem: {rootdirectory: '%s/data'}
  delete: {enabled: true}
`, dir))
	return startPlain(t, dir, func(address string) *exec.Cmd {
		cmd := exec.CommandContext(t.Context(), program, "serve", filepath.Join(dir, "config.yml"))
		cmd.Env = append(os.Environ(), "REGISTRY_HTTP_ADDR="+address)
		return cmd
	})
}

func startCrane(t *testing.T, _ string) http.Handler {
	t.Helper()
	dir := t.TempDir()
	return startPlain(t, dir, func(address string) *exec.Cmd {
		return exec.CommandContext(t.Context(), programs.crane, "registry", "serve", "--address", address, "--disk", dir)
	})
}

// startECR starts an imitation of ECR that has the repositories whose directories exist.
func startECR(_ *testing.T, created string) http.Handler {
	r := registrytest.ECR.New()
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		name, _, _ := strings.Cut(strings.TrimPrefix(req.URL.Path, "/v2/"), "/blobs/")
		name, _, _ = strings.Cut(name, "/manifests/")
		if _, err := os.Stat(filepath.Join(created, filepath.FromSlash(name))); err == nil {
			r.Create(name)
		}
		r.ServeHTTP(w, req)
	})
}

func startPlain(t *testing.T, dir string, command func(address string) *exec.Cmd) http.Handler {
	t.Helper()
	url, stop, err := fixture.StartPlain(t.Context(), dir, world.ca, command)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(stop)
	return registryProxy(url)
}

// TestRegistries takes the same steps with each product. Each step must succeed, or fail as
// the product's limitations describe. At the end, the test prints a table.
func TestRegistries(t *testing.T) {
	t.Parallel()
	_, config := serveOrigin(t, origintest.Options{}, tinyRelease(t, "tiny", "1.0.0"), tinyRelease(t, "tiny", "1.1.0"))
	all := products()
	results := make([][]string, len(all))
	t.Cleanup(func() { t.Log(tableOf(all, results)) }) // after the subtests
	for i, p := range all {
		t.Run(p.name, func(t *testing.T) {
			t.Parallel()
			f := newProductFlow(t, p, config)
			for _, s := range productSteps {
				results[i] = append(results[i], f.try(s.name, s.take))
				if results[i][0] != works {
					return // nothing was mirrored
				}
			}
		})
	}
}

// works is the result of a step that succeeded.
const works = "works"

// try takes a step, and returns its cell in the table.
func (f *productFlow) try(name string, take func(*productFlow) error) string {
	f.t.Helper()
	err := take(f)
	want, isLimited := f.limits[name]
	failed, hasFailed := errors.AsType[*commandError](err)
	switch {
	case err == nil && !isLimited:
		return works
	case err == nil:
		f.t.Errorf("%s: succeeded, but the test expects a limitation: %s", name, want.reason)
	case isLimited && hasFailed && failed.code == want.code && strings.Contains(failed.text(), want.says):
		return fmt.Sprintf("exit %d: %s", want.code, want.reason)
	default:
		f.t.Errorf("%s: %v", name, err)
	}
	return "FAILED"
}

// tableOf returns a table with a row for each product.
func tableOf(all []product, results [][]string) string {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprint(w, "\nproduct")
	for _, s := range productSteps {
		fmt.Fprint(w, "\t", s.name)
	}
	var limits []string
	for i, cells := range results {
		fmt.Fprint(w, "\n", all[i].name)
		for n, s := range productSteps {
			if n >= len(cells) {
				fmt.Fprint(w, "\t-")
				continue
			}
			short, reason, isLimited := strings.Cut(cells[n], ": ")
			if fmt.Fprint(w, "\t", short); isLimited {
				limits = append(limits, fmt.Sprintf("%s, %s: %s", all[i].name, s.name, reason))
			}
		}
	}
	_ = w.Flush()
	return b.String() + "\n\n" + strings.Join(limits, "\n")
}
