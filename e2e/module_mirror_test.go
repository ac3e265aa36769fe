package e2e_test

import (
	"path/filepath"
	"strings"
	"testing"
)

// TestTofuInstallsMirroredModules mirrors a module from a module registry whose packages
// are in a git repository, and installs it with OpenTofu.
func TestTofuInstallsMirroredModules(t *testing.T) {
	t.Parallel()
	origin := serveModuleOrigin(t, map[string]map[string]string{"vpc@1.0.0": {
		"main.tf":                "module \"subnet\" {\n  source = \"./modules/subnet\"\n}\noutput \"name\" {\n  value = module.subnet.name\n}\n",
		"modules/subnet/main.tf": "output \"name\" {\n  value = file(\"${path.module}/../../name.txt\")\n}\n",
		"name.txt":               "first",
	}})
	config, repository := filepath.Join(t.TempDir(), "tofurc"), startRegistry(t)+"/modules/acme/vpc/test"
	write(t, config, origin.config)
	mirror := func() report {
		return parse(t, run(t, programs.tofuOCI, "module", "mirror", "acme/vpc/test", "--to", strings.TrimSuffix(repository, "test")+"{system}",
			"--config", config, "--ca-file", world.caFile, "--output", "json"))
	}
	first := mirror()
	if again := mirror(); first.Items[0].Status != "created" || again.Items[0].Status != "unchanged" {
		t.Errorf("got %s, then %s", first.Items[0].Status, again.Items[0].Status)
	}
	origin.stop()
	for _, source := range []string{"?tag=1.0.0", "?digest=" + first.Items[0].Digest, "//modules/subnet?tag=1.0.0"} {
		root := t.TempDir()
		write(t, filepath.Join(root, "main.tf"), "module \"vpc\" {\n  source = \"oci://"+repository+source+"\"\n}\noutput \"name\" {\n  value = module.vpc.name\n}\n")
		tofu(t, root, config, "init", "-input=false", "-no-color")
		if plan := tofu(t, root, config, "plan", "-input=false", "-no-color"); !strings.Contains(plan, `+ name = "first"`) {
			t.Errorf("%s: unexpected plan:\n%s", source, plan)
		}
	}
}
