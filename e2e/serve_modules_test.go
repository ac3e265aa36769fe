package e2e_test

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// nestedModules contains the files of modules by name and version. The module stack
// requires the other two from a registry. The package of part contains its module in a
// subdirectory.
var nestedModules = map[string]map[string]string{
	"stack@1.0.0": {"main.tf": `output "text" { value = "old" }`},
	"stack@1.2.0": {"main.tf": `
module "greeting" {
  source  = "acme/greeting/test"
  version = "~> 2.0"
  name    = "stack"
}
module "part" {
  source  = "acme/part/test//modules/part"
  version = "1.0.0"
}
output "text" { value = "${module.greeting.text} ${module.part.text}" }
`},
	"stack@2.0.0":    {"main.tf": `output "text" { value = "new" }`},
	"greeting@2.0.1": {"main.tf": "variable \"name\" {}\nmodule \"local\" {\n  source = \"./local\"\n}\noutput \"text\" { value = \"${module.local.text} ${var.name}\" }\n", "local/main.tf": `output "text" { value = "hello" }`},
	"part@1.0.0":     {"main.tf": `output "text" { value = "root" }`, "modules/part/main.tf": `output "text" { value = "with a part" }`},
}

// usesStack requires the module stack.
const usesStack = `
module "stack" {
  source  = "acme/stack/test"
  version = "~> 1.0"
}
output "text" { value = module.stack.text }
`

// stackVersions contains the module versions that usesStack selects.
var stackVersions = map[string]string{"stack": "1.2.0", "stack.greeting": "2.0.1", "stack.part": "1.0.0"}

// pushNestedModules stores the modules in the repositories of a template.
func pushNestedModules(t *testing.T, template string) {
	t.Helper()
	for module, files := range nestedModules {
		name, version, _ := strings.Cut(module, "@")
		dir := t.TempDir()
		for path, text := range files {
			write(t, filepath.Join(dir, path), text)
		}
		to := strings.NewReplacer("{namespace}", "acme", "{name}", name, "{system}", "test").Replace(template)
		run(t, programs.tofuOCI, "module", "push", dir, "--to", to, "--version", version, "--ca-file", world.caFile)
	}
}

// registryHost returns the default host of a client.
func (c client) registryHost() string {
	if c.program == programs.terraform {
		return "registry.terraform.io"
	}
	return string(provider.DefaultHost)
}

// planStack runs init and plan. It returns the installed modules from modules.json.
func (c client) planStack(t *testing.T, configuration, cliConfig string) map[string]string {
	t.Helper()
	dir := t.TempDir()
	write(t, filepath.Join(dir, "main.tf"), configuration)
	c.run(t, dir, cliConfig, "init")
	if out := c.run(t, dir, cliConfig, "plan"); !strings.Contains(out, `"hello stack with a part"`) {
		t.Errorf("wrong plan:\n%s", out)
	}
	versions := map[string]string{}
	for _, m := range installedIn(t, dir) {
		if m.Version != "" {
			versions[m.Key] = m.Version
		}
	}
	return versions
}

// TestServeModules checks that the real clients install a registry module with two
// nested registry modules from the server, and that no other server is contacted. The
// modules are in a registry and in image layouts.
func TestServeModules(t *testing.T) { //nolint:tparallel // the log is read after the subtests
	t.Parallel()
	const variables = "/{namespace}/{name}/{system}"
	hash := sha256.Sum256([]byte("canary-of-ci"))
	rules := filepath.Join(t.TempDir(), "rules.hcl")
	write(t, rules, fmt.Sprintf("token \"ci\" {\n  sha256 = %q\n  modules = [\"*/*/*/*\"]\n}\n", hex.EncodeToString(hash[:])))
	oci := filepath.Join(t.TempDir(), "oci.hcl")
	write(t, oci, "anonymous {\n  allow = [\"*/*/*\"]\n  modules = [\"*/*/*/*\"]\n}\nserver {\n  module_location = \"oci\"\n}\n")
	for name, from := range map[string]string{"registry": startRegistry(t) + "/modules" + variables, "layout": "oci-layout:" + filepath.ToSlash(t.TempDir()) + variables} {
		pushNestedModules(t, from)
		for kind, flags := range map[string][]string{"archive": nil, "oci": {"--serve-config", oci}, "token": {"--serve-config", rules}} {
			server := startServe(t, append(flags, "--modules-from", from)...)
			for _, c := range clients() {
				t.Run(name+"/"+kind+"/"+c.name, func(t *testing.T) {
					redirected := modulesAt(c.registryHost(), server.URL+"/v1/modules/"+c.registryHost()+"/")
					if kind == "token" {
						redirected += login("https://" + c.registryHost())
					}
					if diff := cmp.Diff(stackVersions, c.planStack(t, usesStack, redirected)); diff != "" {
						t.Errorf("installed modules (-want +got):\n%s", diff)
					}
				})
			}
			out, err := server.Stop()
			if err != nil || !strings.Contains(out, "route=module-archive") || strings.Contains(out, "canary") {
				t.Errorf("the log contains no archives, or contains a secret: %v\n%s", err, out)
			}
			tofuDownloads := strings.Count(out, "method=GET path=/module-archive/-/registry.opentofu.org/")
			if expected := map[bool]int{true: 0, false: 3}[kind == "oci" && name == "registry"]; kind != "token" && tofuDownloads != expected {
				t.Errorf("%s/%s: tofu downloaded %d archives from the server, want %d", name, kind, tofuDownloads, expected)
			}
		}
		// The URL without a host provides the modules for any host. Clients don't support
		// module registries at localhost.
		url := startServe(t, "--modules-from", from).URL
		anyHost := modulesAt("modules.example.com", url+"/v1/modules/")
		for _, c := range clients() {
			t.Run(name+"/any host/"+c.name, func(t *testing.T) {
				dir := t.TempDir()
				write(t, filepath.Join(dir, "main.tf"), "module \"part\" {\n  source = \"modules.example.com/acme/part/test//modules/part\"\n}\noutput \"text\" { value = module.part.text }\n")
				c.run(t, dir, anyHost, "init")
				if out := c.run(t, dir, anyHost, "plan"); !strings.Contains(out, "with a part") {
					t.Errorf("wrong plan:\n%s", out)
				}
			})
		}
	}
}

// TestServePullsModules checks that the real clients install a module with two nested
// modules that are not mirrored yet through the server. Afterward, the same server and a
// restarted server must serve them without the module registry.
func TestServePullsModules(t *testing.T) {
	t.Parallel()
	origin, config := serveModuleOrigin(t, nestedModules), filepath.Join(t.TempDir(), "tofurc")
	write(t, config, origin.config)
	from := startRegistry(t) + "/modules/{hostname}/{namespace}/{name}/{system}"
	flags := []string{"--modules-from", from, "--config", config}
	for _, c := range clients() {
		flags = append(flags, "--modules-pull-through", c.registryHost()+"/acme/*/*")
	}
	install := func(url string) {
		for _, c := range clients() {
			redirected := modulesAt(c.registryHost(), url+"/v1/modules/"+c.registryHost()+"/")
			if diff := cmp.Diff(stackVersions, c.planStack(t, usesStack, redirected)); diff != "" {
				t.Errorf("%s: installed modules (-want +got):\n%s", c.name, diff)
			}
		}
	}
	url := startServe(t, flags...).URL
	install(url)
	origin.stop()
	install(url)
	restarted := startServe(t, flags...).URL
	install(restarted)
	verified := run(t, programs.tofuOCI, "verify", "--from", from, "--check-level", "deep", "--ca-file", world.caFile, "--output", "json")
	for _, c := range clients() {
		if !strings.Contains(verified, c.registryHost()+"/acme/stack/test") {
			t.Errorf("the module for %s is not mirrored:\n%s", c.name, verified)
		}
	}
}

// TestServeHostBlock installs a module and the provider that it requires from the server
// with a host block that contains both services, and the installation method direct.
func TestServeHostBlock(t *testing.T) {
	t.Parallel()
	m, modules := newTimeMirror(t, string(provider.DefaultHost)), "oci-layout:"+filepath.ToSlash(t.TempDir())
	dir := t.TempDir()
	write(t, filepath.Join(dir, "main.tf"), strings.ReplaceAll(mainTF, `"hashicorp/time"`, `"`+timeAddress+`"`))
	run(t, programs.tofuOCI, "module", "push", dir, "--to", modules+"/acme/timer/test", "--version", "1.0.0")
	server := startServe(t, "--from", m.repository, "--modules-from", modules+"/{namespace}/{name}/{system}")
	blocks := run(t, programs.tofuOCI, "tofurc", "--modules-server", server.URL)
	blocks = strings.ReplaceAll(blocks, "https://registry.opentofu.org/v1/providers/", server.URL+"/v1/providers/")
	for _, c := range clients() {
		dir := t.TempDir()
		write(t, filepath.Join(dir, "main.tf"), "module \"timer\" {\n  source  = \"registry.opentofu.org/acme/timer/test\"\n  version = \"~> 1.0\"\n}\noutput \"unix\" { value = module.timer.unix }\n")
		c.run(t, dir, blocks+"provider_installation {\n  direct {}\n}\n", "init")
		c.run(t, dir, blocks+"provider_installation {\n  direct {}\n}\n", "apply", "-auto-approve")
	}
	out, err := server.Stop()
	if err != nil || !strings.Contains(out, "route=module-archive") || !strings.Contains(out, "route=archive") {
		t.Errorf("the log doesn't contain the archives of the module and the provider: %v\n%s", err, out)
	}
}
