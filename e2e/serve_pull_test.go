package e2e_test

import (
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tofu-oci/tofu-oci/e2e/fixture"
	"github.com/tofu-oci/tofu-oci/internal/testing/origintest"
)

// emptyRepositories returns two empty repositories: one in an image layout and one in a
// registry.
func emptyRepositories(t *testing.T) map[string]string {
	t.Helper()
	return map[string]string{
		"layout":   "oci-layout:" + filepath.ToSlash(t.TempDir()) + "/{type}",
		"registry": startRegistry(t) + "/mirror/{namespace}/{type}",
	}
}

// TestPullThrough installs a provider with the real clients through empty repositories.
// Afterward, the repositories must contain a complete release, and OCI clients must
// install the release without the origin registry.
func TestPullThrough(t *testing.T) {
	t.Parallel()
	for name, repository := range emptyRepositories(t) {
		origin, config := serveOrigin(t, origintest.Options{}, world.release)
		server := startServe(t, "--from", repository, "--pull-through", "hashicorp/*", "--config", config)
		url := server.URL
		var group sync.WaitGroup
		for _, c := range clients() {
			group.Go(func() {
				dir := t.TempDir()
				write(t, filepath.Join(dir, "main.tf"), strings.ReplaceAll(mainTF, `"hashicorp/time"`, `"`+timeAddress+`"`))
				c.run(t, dir, networkMirrorAt(url), "init")
			})
		}
		group.Wait()
		waitForMirrored(t, server)
		if n := origin.Requests()[origintest.Zip]; n != len(world.release.Archives) {
			t.Errorf("%s: %d zips were fetched, want %d", name, n, len(world.release.Archives))
		}
		origin.Misbehave(origintest.Versions, origintest.Status(500), -1)
		run(t, programs.tofuOCI, "verify", "hashicorp/time", "--from", repository, "--check-level", "deep", "--ca-file", world.caFile)
		clients()[0].install(t, timeAddress, networkMirrorAt(url))
		if name == "layout" {
			continue // OpenTofu does not read image layouts
		}
		run(t, programs.tofuOCI, "doctor", "hashicorp/time", "--config", tofurc(t, repository), "--ca-file", world.caFile)
		clients()[0].install(t, timeAddress, run(t, programs.tofuOCI, "tofurc", repository))
	}
}

// TestPullThroughRegistry checks that a request with the registry protocol also
// triggers a pull-through, and that the client verifies the author's signature.
func TestPullThroughRegistry(t *testing.T) {
	t.Parallel()
	repository := emptyRepositories(t)["registry"]
	_, config := serveOrigin(t, origintest.Options{}, world.release)
	server := startServe(t, "--from", repository, "--pull-through", "hashicorp/time", "--config", config)
	for _, c := range clients() {
		dir := t.TempDir()
		write(t, filepath.Join(dir, "main.tf"), strings.ReplaceAll(mainTF, `"hashicorp/time"`, `"`+strings.TrimPrefix(server.URL, "https://")+`/hashicorp/time"`))
		out := c.run(t, dir, "", "init")
		if !strings.Contains(out, "self-signed") && !strings.Contains(out, "signed, key ID") {
			t.Errorf("no report of a verified signature:\n%s", out)
		}
	}
	waitForMirrored(t, server)
	run(t, programs.tofuOCI, "verify", "hashicorp/time", "--from", repository, "--check-level", "deep", "--ca-file", world.caFile)
}

// TestPullThroughPendingElsewhere checks that the server does not pull a release
// through to the first repository if the release is pending in the second repository.
func TestPullThroughPendingElsewhere(t *testing.T) {
	t.Parallel()
	origin, config := serveOrigin(t, origintest.Options{}, world.release)
	first, second := emptyRepositories(t)["layout"], emptyRepositories(t)["layout"]
	run(t, programs.tofuOCI, "mirror", "hashicorp/time", "--stage", "--to", second, "--config", config, "--ca-file", world.caFile)
	mirrored := origin.Requests()[origintest.Zip]
	url := startServe(t, "--from", first, "--from", second, "--pull-through", "hashicorp/*", "--config", config).URL
	for _, c := range clients() {
		c.refused(t, timeAddress, networkMirrorAt(url), "was not found in any of the search locations")
	}
	run(t, programs.tofuOCI, "promote", "hashicorp/time", "--to", second, "--ca-file", world.caFile)
	url = startServe(t, "--from", first, "--from", second, "--pull-through", "hashicorp/*", "--config", config).URL
	clients()[0].install(t, timeAddress, networkMirrorAt(url))
	if n := origin.Requests()[origintest.Zip]; n != mirrored {
		t.Errorf("%d zips were fetched, want %d", n, mirrored)
	}
}

// TestPullThroughRejected checks that, if the policy rejects a release, clients print
// the reason.
func TestPullThroughRejected(t *testing.T) {
	t.Parallel()
	unsigned, young := world.release, world.release
	unsigned.Signature, unsigned.Keys = nil, nil
	young.Modified = time.Now().Add(-time.Hour)
	for _, test := range []struct {
		name    string
		release origintest.Release
		flags   []string
		want    string
	}{
		{"unsigned", unsigned, []string{"--signatures", "require"}, "time_" + fixture.TimeVersion + "_is_refused:_unsigned"},
		{"young", young, []string{"--min-age", "72h"}, "time_" + fixture.TimeVersion + "_is_held_back_until_"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			_, config := serveOrigin(t, origintest.Options{}, test.release)
			repository := emptyRepositories(t)["layout"]
			url := startServe(t, append([]string{"--from", repository, "--pull-through", "hashicorp/*", "--config", config}, test.flags...)...).URL
			for _, c := range clients() {
				dir := t.TempDir()
				write(t, filepath.Join(dir, "main.tf"), strings.ReplaceAll(mainTF, `"hashicorp/time"`, `"`+timeAddress+`"`))
				cli := filepath.Join(dir, "cli.tofurc")
				write(t, cli, networkMirrorAt(url))
				cmd := command(t, c.program, "init", "-input=false", "-no-color")
				cmd.Dir, cmd.Env = dir, append(cmd.Env, "TF_CLI_CONFIG_FILE="+cli)
				out, err := cmd.CombinedOutput()
				t.Logf("output of %s:\n%s", c.name, out)
				joined := strings.NewReplacer("\n", "", "│ ", "", " ", "").Replace(string(out))
				if err == nil || !strings.Contains(joined, test.want) {
					t.Errorf("%s does not print the reason (%v)", c.name, err)
				}
			}
		})
	}
}

// waitForMirrored waits until the server has mirrored a release.
func waitForMirrored(t *testing.T, server *fixture.Server) {
	t.Helper()
	if _, err := server.WaitForLog(regexp.MustCompile("mirrored a release")); err != nil {
		t.Fatal(err)
	}
}

// tofurc writes a configuration file that contains the block for a repository.
func tofurc(t *testing.T, repository string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "cli.tofurc")
	write(t, path, run(t, programs.tofuOCI, "tofurc", repository))
	return path
}
