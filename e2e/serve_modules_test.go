package e2e_test

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
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
	var installed struct {
		Modules []struct{ Key, Version string }
	}
	data, err := os.ReadFile(filepath.Join(dir, ".terraform", "modules", "modules.json"))
	if err == nil {
		err = json.Unmarshal(data, &installed)
	}
	if err != nil {
		t.Fatal(err)
	}
	versions := map[string]string{}
	for _, m := range installed.Modules {
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
	want := map[string]string{"stack": "1.2.0", "stack.greeting": "2.0.1", "stack.part": "1.0.0"}
	hash := sha256.Sum256([]byte("canary-of-ci"))
	rules := filepath.Join(t.TempDir(), "rules.hcl")
	write(t, rules, fmt.Sprintf("token \"ci\" {\n  sha256 = %q\n  modules = [\"*/*/*/*\"]\n}\n", hex.EncodeToString(hash[:])))
	for name, from := range map[string]string{"registry": startRegistry(t) + "/modules" + variables, "layout": "oci-layout:" + filepath.ToSlash(t.TempDir()) + variables} {
		pushNestedModules(t, from)
		for kind, flags := range map[string][]string{"archive": nil, "oci": {"--module-location", "oci"}, "token": {"--serve-config", rules}} {
			url, log := startServe(t, append(flags, "--modules-from", from)...)
			for _, c := range clients() {
				t.Run(name+"/"+kind+"/"+c.name, func(t *testing.T) {
					redirected := fmt.Sprintf("host %q {\n  services = {\n    \"modules.v1\" = \"%s/v1/modules/%s/\"\n  }\n}\n", c.registryHost(), url, c.registryHost())
					if kind == "token" {
						redirected += login("https://" + c.registryHost())
					}
					if diff := cmp.Diff(want, c.planStack(t, usesStack, redirected)); diff != "" {
						t.Errorf("installed modules (-want +got):\n%s", diff)
					}
				})
			}
			out, err := os.ReadFile(log)
			if err != nil || !strings.Contains(string(out), "route=module-archive") || strings.Contains(string(out), "canary") {
				t.Errorf("the log contains no archives, or contains a secret: %v\n%s", err, out)
			}
			tofuDownloads := strings.Count(string(out), "method=GET path=/module-archive/-/registry.opentofu.org/")
			if expected := map[bool]int{true: 0, false: 3}[kind == "oci" && name == "registry"]; kind != "token" && tofuDownloads != expected {
				t.Errorf("%s/%s: tofu downloaded %d archives from the server, want %d", name, kind, tofuDownloads, expected)
			}
		}
		// The URL without a host provides the modules for any host. Clients don't support
		// module registries at localhost.
		url, _ := startServe(t, "--modules-from", from)
		anyHost := fmt.Sprintf("host \"modules.example.com\" {\n  services = {\n    \"modules.v1\" = \"%s/v1/modules/\"\n  }\n}\n", url)
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
