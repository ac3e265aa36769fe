package sync_test

import (
	"archive/zip"
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/tofu-oci/tofu-oci/internal/sync"
	"github.com/tofu-oci/tofu-oci/internal/testing/gittest"
	"github.com/tofu-oci/tofu-oci/internal/testing/nouns"
	"github.com/tofu-oci/tofu-oci/internal/testing/origintest"
	"github.com/tofu-oci/tofu-oci/internal/testing/registrytest"
	"github.com/tofu-oci/tofu-oci/internal/testing/testca"
	"github.com/tofu-oci/tofu-oci/pkg/approval"
	"github.com/tofu-oci/tofu-oci/pkg/module"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
	"github.com/tofu-oci/tofu-oci/pkg/source/origin"
)

var ca *testca.CA

// TestMain makes git trust the test CA. It also lets the test binary act as a gate.
func TestMain(m *testing.M) {
	if len(os.Args) == 3 && os.Args[1] == asGate {
		answer, err := os.ReadFile(os.Args[2])
		if err != nil {
			panic(err)
		}
		_, _ = os.Stdout.Write(answer)
		return
	}
	os.Exit(func() int {
		dir, err := os.MkdirTemp("", "sync-test")
		if err != nil {
			panic(err)
		}
		defer func() { _ = os.RemoveAll(dir) }()
		if ca, err = testca.New(); err != nil {
			panic(err)
		}
		if err := gittest.Environment(dir, ca.PEM()); err != nil {
			panic(err)
		}
		return m.Run()
	}())
}

// modules is a module registry whose modules are in git repositories and archives.
type modules struct {
	*mirrored
	git     gittest.Repository // served as host/vpc.git
	host    string
	fetched atomic.Int32 // requests for git repositories
	dir     string
}

func newModules(t *testing.T) *modules {
	t.Helper()
	if testing.Short() {
		t.Skip("starts git")
	}
	m := &modules{mirrored: newMirrored(t), dir: t.TempDir()}
	// The hosts of modules must contain a dot.
	server := httptest.NewUnstartedServer(m.origin)
	var err error
	if server.TLS, err = ca.ServerConfig("127.0.0.1"); err != nil {
		t.Fatal(err)
	}
	server.StartTLS()
	t.Cleanup(server.Close)
	m.fromHost = strings.TrimPrefix(server.URL, "https://")
	served := t.TempDir()
	if m.git, err = gittest.New(t.Context(), filepath.Join(served, "vpc.git")); err != nil {
		t.Fatal(err)
	}
	handler, err := gittest.Handler(t.Context(), served)
	if err != nil {
		t.Fatal(err)
	}
	m.host = registrytest.Serve(t, ca, http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		m.fetched.Add(1)
		handler.ServeHTTP(rw, r)
	}))
	return m
}

// commit adds versions of acme/vpc/aws to the git repository.
func (m *modules) commit(t *testing.T, content string, versions ...string) {
	t.Helper()
	for _, v := range versions {
		if _, err := m.git.Commit(t.Context(), []gittest.Entry{{Path: "main.tf", Content: "# " + content + v + "\n"}}, "v"+v); err != nil {
			t.Fatal(err)
		}
		m.origin.AddModule(origintest.Module{Name: "acme/vpc/aws", Version: v, Location: "git::https://" + m.host + "/vpc.git?ref=v" + v, Discovered: "2026-01-02T03:04:05Z"})
	}
}

// declare reads a declaration with two targets. MODULES in the text represents the host
// of the module registry.
func (m *modules) declare(t *testing.T, text string) {
	t.Helper()
	text = `version = 1
target "main" {
  repository = "` + m.mirrored.host + `/providers/{type}"
  modules    = "` + m.mirrored.host + `/modules/{name}/{system}"
}
target "dr" {
  repository = "oci-layout:dr/providers/{type}"
  modules    = "oci-layout:dr/{name}/{system}"
  from       = "main"
}
` + strings.ReplaceAll(text, "MODULES", m.fromHost)
	var err error
	if m.declaration, err = sync.Parse(filepath.Join(m.dir, "mirror.hcl"), []byte(text), variables); err != nil {
		t.Fatal(err)
	}
	m.wanted, m.problems = m.declaration.Wanted(t.Context(), m.dependencies(t))
}

func TestModules(t *testing.T) {
	t.Parallel()
	m := newModules(t)
	m.commit(t, "", "1.0.0", "1.1.0", "2.0.0")
	const block = "module \"MODULES/acme/vpc/aws\" {\n  latest = %d\n  min_age = \"1d\"\n}\nprune {\n  mode = \"delete\"\n  keep_for = \"1d\"\n  keep_previous = 0\n}\n"
	m.declare(t, fmt.Sprintf(block, 2))
	m.expect(t, "mirror main 2.0.0, copy dr 2.0.0, mirror main 1.1.0, copy dr 1.1.0")
	if tags := m.tags(t, "modules/vpc/aws"); tags != "1.1.0 2.0.0" {
		t.Errorf("got tags %s", tags)
	}
	// A plan without changes fetches no package.
	m.fetched.Store(0)
	locations := m.origin.Requests()[origintest.ModuleLocation]
	p, _ := m.plan(t)
	if p.Summary.Unchanged != 4 || len(p.Actions) != 0 {
		t.Errorf("%+v %+v", p.Summary, p.Actions)
	}
	if n := m.origin.Requests()[origintest.ModuleLocation] - locations; n != 2 || m.fetched.Load() > 2*2 {
		t.Errorf("%d locations and %d git requests, want 2 and at most 4", n, m.fetched.Load())
	}
	// Unselected versions are pruned, restored, and deleted.
	m.declare(t, fmt.Sprintf(block, 1))
	m.expect(t, "mark main 1.1.0, mark dr 1.1.0")
	m.now = m.now.Add(2 * day)
	m.expect(t, "prune main 1.1.0, prune dr 1.1.0")
	m.declare(t, fmt.Sprintf(block, 2))
	m.expect(t, "restore main pruned-1.1.0, restore dr pruned-1.1.0, unmark main 1.1.0, unmark dr 1.1.0")
	m.declare(t, fmt.Sprintf(block, 1))
	m.expect(t, "mark main 1.1.0, mark dr 1.1.0")
	m.now = m.now.Add(2 * day)
	m.expect(t, "prune main 1.1.0, prune dr 1.1.0")
	m.now = m.now.Add(2 * day)
	m.expect(t, "delete main pruned-1.1.0, delete dr pruned-1.1.0")
	if tags := m.tags(t, "modules/vpc/aws"); tags != "2.0.0 tofu-oci-sync" {
		t.Errorf("got tags %s", tags)
	}
	// If the origin moves a version, the mirrored version doesn't change.
	m.commit(t, "evil", "2.0.0")
	if got, _ := m.apply(t); got != "conflict main 2.0.0 failed" {
		t.Errorf("got %s", got)
	}
}

// TestModulesDenied checks that deny_module blocks apply to modules, and that patterns of
// providers don't.
func TestModulesDenied(t *testing.T) {
	t.Parallel()
	m := newModules(t)
	m.commit(t, "", "1.0.0", "1.1.0")
	const block = "module \"MODULES/acme/vpc/aws\" {\n  stage = true\n}\ndeny \"*/*/*\" {\n  versions = \">= 0\"\n  reason = \"a\"\n}\n"
	m.declare(t, block)
	m.expect(t, "stage main pending-1.1.0, pending dr 1.1.0")
	repo := m.repository(t, "modules/vpc/aws")
	if _, err := approval.Promote(t.Context(), repo, provider.ModuleAddress(repo.String()), nouns.Version(t, "1.1.0"), approval.PromoteOptions{}); err != nil {
		t.Fatal(err)
	}
	m.expect(t, "copy dr 1.1.0")
	m.declare(t, block+"deny_module \"MODULES/acme/*/*\" {\n  versions = \"1.1.0\"\n  reason = \"withdrawn\"\n}\n")
	m.expect(t, "deny main 1.1.0, deny dr 1.1.0, stage main pending-1.0.0, pending dr 1.0.0")
	record, exists, err := repository.ReadDenial(t.Context(), repo, nouns.Version(t, "1.1.0"))
	if err != nil || !exists || record.Reason != "withdrawn" {
		t.Errorf("got %+v, %t, %v", record, exists, err)
	}
}

// TestModuleArchives checks that a plan downloads unchanged archives only at a higher check
// level.
func TestModuleArchives(t *testing.T) {
	t.Parallel()
	m := newModules(t)
	var archive bytes.Buffer
	w := zip.NewWriter(&archive)
	if _, err := w.Create("main.tf"); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	m.origin.AddModule(origintest.Module{Name: "acme/vpc/aws", Version: "1.0.0", Archive: archive.Bytes()})
	m.declare(t, "module \"MODULES/acme/vpc/aws\" {\n}\n")
	m.expect(t, "mirror main 1.0.0, copy dr 1.0.0")
	for check, want := range map[repository.Depth]int{repository.DepthTags: 0, repository.DepthIndex: 0, repository.DepthManifests: 1} {
		m.check = check
		before := m.origin.Requests()[origintest.ModuleArchive]
		if p, _ := m.plan(t); p.Summary.Unchanged != 2 || len(p.Actions) != 0 {
			t.Errorf("%s: %+v %+v", check, p.Summary, p.Actions)
		}
		if n := m.origin.Requests()[origintest.ModuleArchive] - before; n != want {
			t.Errorf("%s: %d archives were downloaded, want %d", check, n, want)
		}
	}
}

// TestModulePlans checks that plan files and shards contain modules.
func TestModulePlans(t *testing.T) {
	t.Parallel()
	m := newModules(t)
	m.commit(t, "", "1.0.0")
	m.declare(t, "module \"MODULES/acme/vpc/aws\" {\n}\n")
	p, _ := m.plan(t)
	path := filepath.Join(m.dir, "plan.json")
	if err := p.Write(path); err != nil {
		t.Fatal(err)
	}
	approved, err := sync.ReadPlan(path)
	if err != nil {
		t.Fatal(err)
	}
	m.commit(t, "", "1.1.0")
	p, o := m.plan(t)
	if len(p.Actions) != 2 || p.Actions[0].Version != nouns.Version(t, "1.1.0") {
		t.Errorf("got %+v", p.Actions)
	}
	if err := p.Restrict(approved); err != nil || p.HasChanges() {
		t.Errorf("got %+v, %v", p.Actions, err)
	}
	var shards []int
	for i := 1; i <= 2; i++ {
		o.Shard = sync.Shard{Index: i, Count: 2}
		p, err := sync.NewPlan(t.Context(), o)
		if err != nil {
			t.Fatal(err)
		}
		shards = append(shards, p.Summary.Providers)
	}
	slices.Sort(shards)
	if !slices.Equal(shards, []int{0, 1}) {
		t.Errorf("the shards contain %v modules", shards)
	}
}

// TestModulesWithoutTemplate checks that a target of a module must have a template.
func TestModulesWithoutTemplate(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		minimal + "module \"acme/vpc/aws\" {\n}\n": "mirror.hcl:5: module registry.opentofu.org/acme/vpc/aws is mirrored to target \"main\", which lacks the argument modules",
		"version = 1\ntarget \"a\" {\n  repository = \"ghcr.io/a/{type}\"\n  modules = \"ghcr.io/m/{name}\"\n}\nmodule \"acme/vpc/aws\" {\n}\nmodule \"acme/vpc/azure\" {\n}\n": "use the same repository ghcr.io/m/vpc; use more variables",
		"version = 1\ntarget \"a\" {\n  repository = \"ghcr.io/a/{type}\"\n  modules = \"ghcr.io/a/{name}\"\n}\nmodule \"acme/vpc/aws\" {\n}\nprovider \"acme/vpc\" {\n}\n":     "use the same repository ghcr.io/a/vpc; use more variables",
		minimal + "deny_module \"acme/vpc/aws\" {\n  versions = \"1.0.0\"\n  reason = \"x\"\n}\n":                                                                               "",
	} {
		d, err := parse(text)
		if err != nil {
			t.Fatal(err)
		}
		wanted, problems := d.Wanted(t.Context(), nil)
		err = d.CheckRepositories(wanted)
		if len(problems) > 0 || (err == nil) != (want == "") || err != nil && (provider.KindOf(err) != provider.Misuse || !strings.Contains(err.Error(), want)) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

// declareRoots declares the configurations in live/*.
func (m *modules) declareRoots(t *testing.T) {
	t.Helper()
	m.declare(t, "roots = [\"live/*\"]\nprune {\n  mode = \"delete\"\n  keep_for = \"1d\"\n  keep_previous = 0\n}\n")
}

// dependencies reads root configurations.
func (m *modules) dependencies(t *testing.T) sync.RootDependencies {
	t.Helper()
	return func(dirs []string, failed func(string, error)) (*module.Dependencies, error) {
		from := origin.NewModules(origin.Options{HTTP: m.client})
		c, err := module.FindDependencies(t.Context(), from, dirs, module.DependencyOptions{OnError: failed})
		t.Cleanup(c.Close)
		m.read = c
		return c, err
	}
}

// TestRoots checks that sync mirrors the modules and providers that root configurations
// require, and that it removes nothing if it can't read all of them.
func TestRoots(t *testing.T) {
	t.Parallel()
	m := newModules(t)
	provider := m.mirrored.fromHost
	m.publish(t, "rocket", "1.0.0", "1.1.0", "2.0.0")
	m.commit(t, "\nterraform {\n  required_providers {\n    rocket = {\n      source = \""+provider+"/acme/rocket\"\n      version = \"~> 1.0\"\n    }\n  }\n}\n#", "1.0.0")
	m.commit(t, "", "1.1.0", "2.0.0")
	call := func(version string) string {
		return "module \"vpc\" {\n  source = \"" + m.fromHost + "/acme/vpc/aws\"\n  version = \"" + version + "\"\n}\n"
	}
	write(t, filepath.Join(m.dir, "live", "a", "main.tf"), call("1.0.0"))
	write(t, filepath.Join(m.dir, "live", "b", "main.tofu"), call("< 2.0"))
	write(t, filepath.Join(m.dir, "live", "README.md"), "")
	m.declareRoots(t)
	m.expect(t, "mirror main 1.1.0, copy dr 1.1.0, mirror main 1.1.0, copy dr 1.1.0, mirror main 1.0.0, copy dr 1.0.0")
	// A version that no configuration requires is marked, unless a configuration or a module
	// can't be read.
	write(t, filepath.Join(m.dir, "live", "b", "main.tofu"), call("1.0.0"))
	for name, text := range map[string]string{
		"a missing module":    "module \"x\" {\n  source = \"" + m.fromHost + "/acme/none/aws\"\n}\n",
		"an unknown source":   "variable \"x\" {\n}\nmodule \"x\" {\n  source = var.x\n}\n",
		"an unsupported one":  "module \"x\" {\n  source = \"s3::https://example.org/x.zip\"\n}\n",
		"an unreadable file":  "module {\n",
		"a missing directory": "",
	} {
		other := filepath.Join(m.dir, "live", "c")
		if write(t, filepath.Join(other, "main.tf"), text); text == "" {
			if err := os.RemoveAll(other); err != nil {
				t.Fatal(err)
			}
		}
		m.declareRoots(t)
		if text == "" {
			m.declare(t, "roots = [\"live/*\", \"live/c\"]\nprune {\n}\n")
		}
		p, _ := m.plan(t)
		if len(m.problems) != 1 || len(p.Actions) != 0 || p.Summary.Unchanged != 4 {
			t.Errorf("%s: %v %+v %+v", name, m.problems, p.Summary, p.Actions)
		}
		for _, problem := range m.problems {
			if text := problem.Error(); !strings.HasPrefix(text, "roots: ") || !strings.Contains(text, "removes and denies nothing") {
				t.Errorf("%s: %s", name, text)
			}
		}
		if err := os.RemoveAll(other); err != nil {
			t.Fatal(err)
		}
	}
	m.declareRoots(t)
	// Each plan fetches a package once. It requests one location per call, and one per version.
	m.fetched.Store(0)
	locations := m.origin.Requests()[origintest.ModuleLocation]
	m.declareRoots(t)
	p, _ := m.plan(t)
	if n := m.origin.Requests()[origintest.ModuleLocation] - locations; n != 3 || m.fetched.Load() > 3 || p.Summary.Unchanged != 4 {
		t.Errorf("%d locations, %d git requests, %+v", n, m.fetched.Load(), p.Summary)
	}
	m.expect(t, "mark main 1.1.0, mark dr 1.1.0")
}
