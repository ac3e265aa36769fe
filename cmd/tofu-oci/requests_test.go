package main_test

import (
	"archive/zip"
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/tofu-oci/tofu-oci/internal/testing/origintest"
	"github.com/tofu-oci/tofu-oci/internal/testing/patience"
	"github.com/tofu-oci/tofu-oci/internal/testing/registrytest"
	"github.com/tofu-oci/tofu-oci/internal/testing/testca"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// TestRequests checks the table of requests in docs/performance.md. It counts the
// requests that commands send to an origin registry and an OCI registry, for different
// numbers of versions and platforms. The OCI registry requires no credentials, so the
// counts do not include token requests.
func TestRequests(t *testing.T) {
	t.Parallel()
	table := requestTable(t)
	for _, n := range []struct{ versions, platforms int }{{2, 2}, {3, 2}, {2, 3}, {5, 4}} {
		t.Run(fmt.Sprintf("%d versions for %d platforms", n.versions, n.platforms), func(t *testing.T) {
			t.Parallel()
			if n.versions != 2 || n.platforms != 3 {
				patience.SkipIfShort(t)
			}
			s := newRequestStage(t, n.versions, n.platforms)
			seen := map[string]bool{}
			for _, run := range s.runs() {
				origin, registry := s.counted(t, run.args)
				if run.name == "" {
					continue
				}
				seen[run.name] = true
				row, listed := table[run.name]
				if !listed {
					t.Errorf("the table has no row %q", run.name)
				}
				if a, b := row.origin.at(n.versions, n.platforms), row.registry.at(n.versions, n.platforms); a != origin || b != registry {
					t.Errorf("%s: %d requests to the origin and %d to the registry, not %d and %d\n%v\n%v", run.name, origin, registry, a, b, s.origin.Requests(), s.registry.Requests())
				}
			}
			for name := range table {
				if !seen[name] {
					t.Errorf("nothing was measured for the row %q", name)
				}
			}
		})
	}
	for name, row := range table {
		if want := row.origin.at(200, 10) + row.registry.at(200, 10); row.example != want {
			t.Errorf("%s: 200 versions for 10 platforms are %d requests, not %d", name, want, row.example)
		}
	}
}

// requestStage is an origin registry and an OCI registry with a number of versions.
type requestStage struct {
	origin              *origintest.Origin
	registry            *registrytest.Registry
	network             []string // flags that contain the addresses of both registries
	dir                 string
	provider            string // the provider's address
	registryHost        string
	versions, platforms int
}

func newRequestStage(t *testing.T, versions, platforms int) *requestStage {
	t.Helper()
	ca, err := testca.New()
	if err != nil {
		t.Fatal(err)
	}
	s := &requestStage{
		origin: origintest.New(origintest.Options{}), registry: registrytest.New(registrytest.Options{}),
		dir: t.TempDir(), versions: versions, platforms: platforms,
	}
	s.provider, s.registryHost = registrytest.Serve(t, ca, s.origin)+"/acme/rocket", registrytest.Serve(t, ca, s.registry)
	s.network = []string{"--ca-file", s.write(t, "ca.pem", ca.PEM()), "--config", s.write(t, "tofurc", nil), "--quiet"}
	for i := range versions + 1 {
		r := origintest.Release{
			Namespace: "acme", Type: "rocket", Version: fmt.Sprintf("1.%d.0", i), Protocols: []string{"6.0"},
			Archives: map[provider.Platform]origintest.Archive{},
		}
		for j := range platforms {
			p := platform(j)
			archive := requestZip(t, r.Version+p.String())
			r.Archives[p] = origintest.Archive{Bytes: archive}
			s.write(t, fmt.Sprintf("dist%d/terraform-provider-rocket_%s_%s.zip", min(i, 1), r.Version, p), archive)
		}
		if err := signThrowaway(&r); err != nil {
			t.Fatal(err)
		}
		if err := s.origin.Add(t.Context(), r); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

func (s *requestStage) write(t *testing.T, name string, content []byte) string {
	t.Helper()
	path := filepath.Join(s.dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// requestZip returns a zip with an executable.
func requestZip(t *testing.T, content string) []byte {
	t.Helper()
	var out bytes.Buffer
	w := zip.NewWriter(&out)
	header := &zip.FileHeader{Name: "terraform-provider-rocket", Method: zip.Store}
	header.SetMode(0o755)
	entry, err := w.CreateHeader(header)
	if err == nil {
		_, err = fmt.Fprintf(entry, "#!/bin/sh\necho %s\n", content)
	}
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

type requestRun struct {
	name string // name of the table row; empty if the run only prepares the next run
	args []string
}

// runs returns the measured commands in the order of the table.
func (s *requestStage) runs() []requestRun {
	all := []string{s.provider + "@> 1.0.0", "--all", "--to", s.registryHost + "/mirror/{type}"}
	built := []string{"--provider", "acme/rocket", "--to", s.registryHost + "/built/{type}"}
	pull := []string{"pull", "acme/rocket@1.0.0", "--from", s.registryHost + "/built/{type}", "--dir", filepath.Join(s.dir, "pulled")}
	for i := range s.platforms {
		pull = append(pull, "--platform", platform(i).String())
	}
	runs := []requestRun{
		{"`mirror`, one new version", []string{"mirror", s.provider + "@1.0.0", "--to", s.registryHost + "/mirror/{type}"}},
		{"`mirror --all`, all new", slices.Concat([]string{"mirror"}, all)},
	}
	for _, level := range []string{"tags", "index", "manifests", "blobs", "deep"} {
		runs = append(runs, requestRun{"`mirror --all --check-level " + level + "`, all mirrored", slices.Concat([]string{"mirror", "--check-level", level}, all)})
	}
	copied := []string{"copy", s.provider + "@> 1.0.0", "--all", "--from", s.registryHost + "/mirror/{type}", "--to", s.registryHost + "/copies/{type}"}
	return append(runs,
		requestRun{"`copy --all` within one registry, all new", copied},
		requestRun{"`copy --all` within one registry, all copied", copied},
		requestRun{"", slices.Concat([]string{"publish", filepath.Join(s.dir, "dist0")}, built)},
		requestRun{"`publish`, all new", slices.Concat([]string{"publish", filepath.Join(s.dir, "dist1")}, built)},
		requestRun{"`publish`, all published", slices.Concat([]string{"publish", filepath.Join(s.dir, "dist1")}, built)},
		requestRun{"`pull`, one version", pull},
		requestRun{"`list`", []string{"list", "acme/rocket", "--from", s.registryHost + "/built/{type}"}},
		requestRun{"`list`, one version", []string{"list", "acme/rocket@1.0.0", "--from", s.registryHost + "/built/{type}"}},
	)
}

func platform(i int) provider.Platform {
	return provider.Platform{OS: "plan9", Arch: fmt.Sprintf("arch%d", i)}
}

// counted runs a command and counts its requests.
func (s *requestStage) counted(t *testing.T, args []string) (origin, registry int) {
	t.Helper()
	a, b := sum(s.origin.Requests()), sum(s.registry.Requests())
	if code, _, stderr := execute(t, append(slices.Clone(args), s.network...)...); code != 0 {
		t.Fatalf("%v: exit code %d: %s", args, code, stderr)
	}
	return sum(s.origin.Requests()) - a, sum(s.registry.Requests()) - b
}

func sum[K comparable](counts map[K]int) (n int) {
	for _, count := range counts {
		n += count
	}
	return n
}
