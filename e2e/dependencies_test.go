package e2e_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// installedModule is an entry of modules.json.
type installedModule struct{ Key, Source, Version string }

// installedIn returns the entries of modules.json.
func installedIn(t *testing.T, root string) []installedModule {
	t.Helper()
	var installed struct{ Modules []installedModule }
	data, err := os.ReadFile(filepath.Join(root, ".terraform", "modules", "modules.json"))
	if err == nil {
		err = json.Unmarshal(data, &installed)
	}
	if err != nil {
		t.Fatal(err)
	}
	return installed.Modules
}

// TestMirrorDependencies mirrors everything that a configuration requires. OpenTofu then
// installs the same modules from the tofu-oci server.
func TestMirrorDependencies(t *testing.T) {
	t.Parallel()
	// 1. A module registry and a configuration
	origin := serveModuleOrigin(t, nestedModules)
	configuration := usesStack + "module \"direct\" {\n  source = \"git::" + origin.gitURL + "/modules.git//local?ref=greeting-2.0.1\"\n}\n"
	root, config := t.TempDir(), filepath.Join(t.TempDir(), "tofurc")
	write(t, filepath.Join(root, "main.tf"), configuration)
	write(t, config, origin.config)

	// 2. The mirror
	to := startRegistry(t) + "/modules/{namespace}/{name}/{system}"
	cmd := command(t, programs.tofuOCI, "module", "mirror", "--root", root, "--to", to, "--config", config, "--ca-file", world.caFile)
	output, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(output), "main.tf:7: module.direct: git::"+origin.gitURL+"/modules.git//local: a CLI configuration cannot redirect git repositories") {
		t.Fatalf("%v\n%s", err, output)
	}

	// 3. OpenTofu, with the origin, and with the blocks of tofurc
	install := func(cliConfig string, environment ...string) []installedModule {
		dir := t.TempDir()
		write(t, filepath.Join(dir, "main.tf"), configuration)
		path := filepath.Join(t.TempDir(), "tofurc")
		write(t, path, cliConfig)
		init := command(t, programs.tofu, "init", "-input=false", "-no-color")
		init.Dir = dir
		init.Env = append(init.Env, append(environment, "TF_CLI_CONFIG_FILE="+path)...)
		if output, err := init.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, output)
		}
		return installedIn(t, dir)
	}
	want := install(origin.config)
	url := startServe(t, "--modules-from", to).URL
	origin.stop()
	gitMirror, _ := serveHandler(t, origin.repositories)
	blocks := run(t, programs.tofuOCI, "tofurc", "--modules-server", url)
	redirect := []string{"GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=url." + gitMirror + "/.insteadOf", "GIT_CONFIG_VALUE_0=" + origin.gitURL + "/"}
	if diff := cmp.Diff(want, install(blocks, redirect...)); diff != "" {
		t.Errorf("installed modules (-origin +mirror):\n%s", diff)
	}
	for _, m := range want {
		if address, _, _ := strings.Cut(m.Source, "//"); m.Version != "" && !strings.Contains(string(output), address+" "+m.Version+" created ") {
			t.Errorf("%v is not mirrored:\n%s", m, output)
		}
	}
}
