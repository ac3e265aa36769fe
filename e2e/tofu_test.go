package e2e_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tofu-oci/tofu-oci/e2e/fixture"
	"github.com/tofu-oci/tofu-oci/internal/testing/origintest"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

const mainTF = `terraform {
  required_providers {
    time = { source = "hashicorp/time", version = "` + fixture.TimeVersion + `" }
  }
}
resource "time_static" "now" {}
output "unix" { value = time_static.now.unix }
`

// initialize runs tofu init with a provider_installation block. It returns the
// initialized directory and the CLI configuration.
func initialize(t *testing.T, installation string) (dir, cliConfig string) {
	t.Helper()
	dir = t.TempDir()
	write(t, filepath.Join(dir, "main.tf"), mainTF)
	cliConfig = filepath.Join(t.TempDir(), "tofurc")
	write(t, cliConfig, installation)
	tofu(t, dir, cliConfig, "init", "-input=false", "-no-color")
	return dir, cliConfig
}

func tofu(t *testing.T, dir, cliConfig string, args ...string) string {
	t.Helper()
	cmd := command(t, programs.tofu, args...)
	cmd.Dir = dir
	cmd.Env = append(cmd.Env, "TF_CLI_CONFIG_FILE="+cliConfig)
	return output(t, cmd)
}

// checkLock checks that the lock file contains the hash of the mirrored zip for the
// current platform.
func checkLock(t *testing.T, dir, hash string) {
	t.Helper()
	lock, err := os.ReadFile(filepath.Join(dir, ".terraform.lock.hcl"))
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(lock), `"registry.opentofu.org/hashicorp/time"`) || !strings.Contains(string(lock), hash) {
		t.Errorf("the lock file does not contain the provider or %s:\n%s", hash, lock)
	}
}

// report contains the parts of tofu-oci's JSON output that the tests read.
type report struct {
	Items []struct {
		Status   string
		Digest   string
		Packages []struct{ Platform, Digest, H1, Action, Path string }
	}
}

func parse(t *testing.T, text string) report {
	t.Helper()
	var r report
	if err := json.Unmarshal([]byte(text), &r); err != nil || len(r.Items) != 1 {
		t.Fatalf("want a report with one result: %v\n%s", err, text)
	}
	return r
}

// hashes returns the zh and h1 hashes of the current platform's package.
func (r report) hashes(t *testing.T) (zh, h1 string) {
	t.Helper()
	for _, p := range r.Items[0].Packages {
		if p.Platform == provider.CurrentPlatform().String() {
			return "zh:" + strings.TrimPrefix(p.Digest, "sha256:"), p.H1
		}
	}
	t.Fatal("the report does not contain the current platform")
	return "", ""
}

func TestTofuInstallsMirroredProviders(t *testing.T) {
	t.Parallel()
	origin, config := serveOrigin(t, origintest.Options{}, world.release)
	host := startRegistry(t)
	to := host + "/mirror/{namespace}/{type}"
	mirror := []string{"mirror", "hashicorp/time", "--to", to, "--config", config, "--ca-file", world.caFile, "--output", "json"}

	first := parse(t, run(t, programs.tofuOCI, mirror...))
	if got := first.Items[0].Status; got != "created" {
		t.Errorf("unexpected status of the first run: %q", got)
	}
	if got := origin.Requests()[origintest.Zip]; got != len(world.platforms) {
		t.Errorf("%d zips were fetched for %d platforms", got, len(world.platforms))
	}
	before := origin.Requests()
	again := parse(t, run(t, programs.tofuOCI, mirror...))
	after := origin.Requests()
	if got := again.Items[0]; got.Status != "unchanged" || got.Digest != first.Items[0].Digest {
		t.Errorf("unexpected result of the second run: %q %s, want %s", got.Status, got.Digest, first.Items[0].Digest)
	}
	for _, kind := range []origintest.Kind{origintest.Package, origintest.Sums, origintest.Zip} {
		if before[kind] != after[kind] {
			t.Errorf("the second run requested %s", kind)
		}
	}

	// OpenTofu installs and uses the provider. The CLI configuration contains the block
	// that tofurc prints.
	dir, cli := initialize(t, run(t, programs.tofuOCI, "tofurc", to))
	zh, h1 := first.hashes(t)
	checkLock(t, dir, zh)
	checkLock(t, dir, h1)
	tofu(t, dir, cli, "apply", "-input=false", "-no-color", "-auto-approve")
	if unix := strings.TrimSpace(tofu(t, dir, cli, "output", "unix")); unix == "" || unix == "0" {
		t.Errorf("unexpected value of time_static: %q", unix)
	}
}

func TestSameIndexInLayoutAndRegistry(t *testing.T) {
	t.Parallel()
	_, config := serveOrigin(t, origintest.Options{NoPackages: true}, world.release)
	host := startRegistry(t)
	digests := map[string]bool{}
	for _, to := range []string{host + "/a/{type}", host + "/b/{type}", "oci-layout:" + filepath.ToSlash(t.TempDir()) + "/{type}"} {
		r := parse(t, run(t, programs.tofuOCI, "mirror", "hashicorp/time", "--to", to, "--config", config, "--ca-file", world.caFile, "--output", "json"))
		digests[r.Items[0].Digest] = true
	}
	if len(digests) != 1 {
		t.Errorf("equal input produced different indexes: %v", digests)
	}
}

func TestTofuInstallsFromPulledFilesystemMirrors(t *testing.T) {
	t.Parallel()
	_, config := serveOrigin(t, origintest.Options{}, world.release)
	layout := "oci-layout:" + filepath.ToSlash(t.TempDir()) + "/{namespace}/{type}"
	run(t, programs.tofuOCI, "mirror", "hashicorp/time", "--to", layout, "--config", config, "--ca-file", world.caFile)
	for _, form := range []string{"packed", "unpacked"} {
		t.Run(form, func(t *testing.T) {
			t.Parallel()
			mirror := filepath.ToSlash(filepath.Join(t.TempDir(), "mirror"))
			r := parse(t, run(t, programs.tofuOCI, "pull", "hashicorp/time", "--from", layout, "--dir", mirror, "--layout", form, "--output", "json"))
			dir, cli := initialize(t, fmt.Sprintf("provider_installation {\n  filesystem_mirror {\n    path = %q\n  }\n}\n", mirror))
			_, h1 := r.hashes(t)
			checkLock(t, dir, h1)
			tofu(t, dir, cli, "apply", "-input=false", "-no-color", "-auto-approve")
		})
	}
}
