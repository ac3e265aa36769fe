//go:build unix

package e2e_test

import (
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tofu-oci/tofu-oci/e2e/fixture"
	"github.com/tofu-oci/tofu-oci/internal/testing/origintest"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// TestMoveFromProvidersMirror serves a directory that tofu providers mirror has written,
// mirrors it to a registry, and installs from the registry. tofu then adds a second version to
// the directory, and writes its hashes for both versions.
func TestMoveFromProvidersMirror(t *testing.T) {
	t.Parallel()
	for name, noPackages := range map[string]bool{"origin states hashes": false, "origin states no hashes": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			origin, config := serveOrigin(t, origintest.Options{NoPackages: noPackages}, world.release, newerRelease(t))
			here, exported, to := provider.CurrentPlatform().String(), t.TempDir(), startRegistry(t)+"/moved/{namespace}/{type}"
			tofuMirrors(t, config, exported, here, "windows_386")
			url, stop, err := fixture.Serve(t.Context(), world.ca, http.FileServer(http.Dir(exported)))
			if err != nil {
				t.Fatal(err)
			}
			defer stop()

			// 1. Mirror the directory. The signature comes from the origin registry, and the zips
			// come from the directory.
			before := origin.Requests()[origintest.Zip]
			move := []string{"mirror", "hashicorp/time@" + fixture.TimeVersion, "--from", url + "/", "--signatures", "require", "--to", to, "--config", config, "--ca-file", world.caFile, "--output", "json"}
			moved := parse(t, run(t, programs.tofuOCI, move...))
			if got := moved.Items[0]; got.Status != "created" || len(got.Packages) != 2 {
				t.Errorf("%s with %d packages", got.Status, len(got.Packages))
			}
			if got := origin.Requests()[origintest.Zip]; got != before {
				t.Errorf("%d zips were fetched from the origin registry", got-before)
			}

			// 2. OpenTofu installs the provider from the registry.
			dir, cli := initialize(t, run(t, programs.tofuOCI, "tofurc", to))
			zh, h1 := moved.hashes(t)
			checkLock(t, dir, zh)
			checkLock(t, dir, h1)
			tofu(t, dir, cli, "apply", "-input=false", "-no-color", "-auto-approve")

			// 3. tofu adds the newer version. Its document is right, and the document of the
			// older version has the wrong hashes, with and without the origin registry.
			newer := t.TempDir()
			write(t, filepath.Join(newer, "main.tf"), strings.ReplaceAll(mainTF, fixture.TimeVersion, newerVersion))
			tofu(t, newer, config, "providers", "mirror", "-platform="+here, exported)
			run(t, programs.tofuOCI, "mirror", "hashicorp/time@"+newerVersion, "--from", url+"/", "--to", to, "--config", config, "--ca-file", world.caFile)
			for _, signatures := range []string{"warn", "off"} {
				out, code := exits(t, "pull", "hashicorp/time@"+fixture.TimeVersion, "--from", url+"/", "--signatures", signatures, "--dir", t.TempDir(), "--config", config, "--ca-file", world.caFile)
				if code != 4 || !strings.Contains(out, "the mirror lists the same hash for version "+newerVersion) {
					t.Errorf("exit code %d:\n%s", code, out)
				}
			}
		})
	}
}
