package e2e_test

import (
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tofu-oci/tofu-oci/e2e/fixture"
	"github.com/tofu-oci/tofu-oci/internal/testing/gittest"
	"github.com/tofu-oci/tofu-oci/internal/testing/origintest"
)

// TestTofuInstallsMirroredModules mirrors a module from a module registry whose packages
// are in a git repository, and installs it with OpenTofu.
func TestTofuInstallsMirroredModules(t *testing.T) {
	t.Parallel()
	// 1. A git repository and a module registry
	dir := t.TempDir()
	repo, err := gittest.New(t.Context(), filepath.Join(dir, "vpc.git"))
	if err != nil {
		t.Fatal(err)
	}
	commit, err := repo.Commit(t.Context(), []gittest.Entry{
		{Path: "main.tf", Content: "module \"subnet\" {\n  source = \"./modules/subnet\"\n}\noutput \"name\" {\n  value = module.subnet.name\n}\n"},
		{Path: "modules/subnet/main.tf", Content: "output \"name\" {\n  value = file(\"${path.module}/../../name.txt\")\n}\n"},
		{Path: "name.txt", Content: "first"},
	}, "v1.0.0")
	if err != nil {
		t.Fatal(err)
	}
	repositories, err := gittest.Handler(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	gitURL, stop, err := fixture.Serve(t.Context(), world.ca, http.StripPrefix("/git", repositories))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(stop)
	origin, _ := serveOrigin(t, origintest.Options{})
	originURL, stop, err := fixture.Serve(t.Context(), world.ca, origin)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(stop)
	origin.AddModule(origintest.Module{Name: "acme/vpc/aws", Version: "1.0.0", Location: "git::" + gitURL + "/git/vpc.git?ref=v1.0.0"})
	config := filepath.Join(t.TempDir(), "tofurc")
	write(t, config, "host \"registry.opentofu.org\" {\n  services = {\n    \"modules.v1\" = \""+originURL+"/v1/modules/\"\n  }\n}\n")

	// 2. The mirror
	host := startRegistry(t)
	mirror := func() report {
		cmd := command(t, programs.tofuOCI, "module", "mirror", "acme/vpc/aws", "--to", host+"/modules/{namespace}/{name}/{system}",
			"--config", config, "--ca-file", world.caFile, "--output", "json")
		cmd.Env = append(cmd.Env, "GIT_SSL_CAINFO="+world.caFile)
		return parse(t, output(t, cmd))
	}
	first := mirror()
	if again := mirror(); first.Items[0].Status != "created" || again.Items[0].Status != "unchanged" {
		t.Errorf("got %s, then %s", first.Items[0].Status, again.Items[0].Status)
	}

	// 3. OpenTofu, with different references
	for _, source := range []string{"?tag=1.0.0", "?digest=" + first.Items[0].Digest, "//modules/subnet?tag=1.0.0"} {
		root := t.TempDir()
		write(t, filepath.Join(root, "main.tf"), "module \"vpc\" {\n  source = \"oci://"+host+"/modules/acme/vpc/aws"+source+"\"\n}\noutput \"name\" {\n  value = module.vpc.name\n}\n")
		tofu(t, root, config, "init", "-input=false", "-no-color")
		if plan := tofu(t, root, config, "plan", "-input=false", "-no-color"); !strings.Contains(plan, `+ name = "first"`) {
			t.Errorf("%s of commit %s: unexpected plan:\n%s", source, commit, plan)
		}
	}
}
