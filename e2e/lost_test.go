package e2e_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tofu-oci/tofu-oci/e2e/fixture"
	"github.com/tofu-oci/tofu-oci/internal/testing/origintest"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// TestLostZip deletes a zip in a registry that still lists the release, so that init
// fails. lock --check, pull, and exec must report the loss. The command in their hint
// must restore the zip.
func TestLostZip(t *testing.T) {
	t.Parallel()
	// 1. Mirror a release, delete its zip for the current platform, and write a lock
	// file that selects the release.
	signer, err := fixture.NewSigner()
	if err != nil {
		t.Fatal(err)
	}
	packages := tinyPackages(t, plainName, plainVersion)
	_, config := serveOrigin(t, origintest.Options{}, lockRelease(t, signer, plainName, plainVersion, packages))
	storage := t.TempDir()
	host, stop, err := fixture.StartRegistry(t.Context(), programs.registry, storage, "", world.ca)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(stop)
	repository := host + "/mirror/{namespace}/{type}"
	mirror := []string{"mirror", "registry.opentofu.org/" + plainName + "@" + plainVersion, "--to", repository, "--config", config, "--ca-file", world.caFile}
	run(t, programs.tofuOCI, mirror...)
	dir, cli := t.TempDir(), filepath.Join(t.TempDir(), "tofurc")
	write(t, filepath.Join(dir, "main.tf"), "terraform {\n  required_providers {\n    plain = { source = \""+plainName+"\" }\n  }\n}\n")
	write(t, cli, run(t, programs.tofuOCI, "tofurc", repository))
	from := []string{"--from", repository, "--ca-file", world.caFile}
	run(t, programs.tofuOCI, append([]string{"lock", "--root", dir}, from...)...)
	zip := strings.TrimPrefix(string(packages[provider.CurrentPlatform()].zh), "zh:")
	if err := os.Remove(filepath.Join(storage, "data", "docker", "registry", "v2", "blobs", "sha256", zip[:2], zip, "data")); err != nil {
		t.Fatal(err)
	}
	// 2. Check the output of lock --check, pull, and exec.
	check := append([]string{"lock", "--check", "--root", dir}, from...)
	restore := "tofu-oci mirror '" + mirror[1] + "' --to '" + repository + "'"
	for _, args := range [][]string{
		check,
		append([]string{"pull", plainName, "--dir", t.TempDir()}, from...),
		append(append([]string{"exec", "--root", dir, "--cache", t.TempDir()}, from...), "--", programs.tofu, "version"),
	} {
		if out, err := command(t, programs.tofuOCI, args...).CombinedOutput(); err == nil || !strings.Contains(string(out), restore) {
			t.Errorf("%s: %v\n%s", args[0], err, out)
		}
	}
	init := func() ([]byte, error) {
		cmd := command(t, programs.tofu, "init", "-input=false", "-no-color")
		cmd.Dir, cmd.Env = dir, append(cmd.Env, "TF_CLI_CONFIG_FILE="+cli)
		return cmd.CombinedOutput()
	}
	if out, err := init(); err == nil {
		t.Errorf("init succeeded without the zip:\n%s", out)
	}
	// 3. Run the command in the hint.
	run(t, programs.tofuOCI, mirror...)
	run(t, programs.tofuOCI, check...)
	if out, err := init(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
