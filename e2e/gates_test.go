//go:build unix

package e2e_test

import (
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/tofu-oci/tofu-oci/e2e/fixture"
	"github.com/tofu-oci/tofu-oci/internal/testing/origintest"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// example returns the path of a gate in docs/examples.
func example(t *testing.T, name string) string {
	t.Helper()
	path, err := filepath.Abs(filepath.Join("..", "docs", "examples", name))
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// gated returns a command of tofu-oci that starts a gate. The gate's programs are in the
// directory of the pinned tools.
func gated(t *testing.T, gate string, args ...string) *exec.Cmd {
	t.Helper()
	cmd := command(t, programs.tofuOCI, append(args, "--gate", gate, "--ca-file", world.caFile)...)
	path := filepath.Dir(programs.govulncheck) + string(filepath.ListSeparator)
	for _, variable := range slices.Clone(cmd.Env) {
		if value, ok := strings.CutPrefix(variable, "PATH="); ok {
			cmd.Env = append(cmd.Env, "PATH="+path+value)
		}
	}
	return cmd
}

// fails checks the exit code of a command, and returns its output on one line.
func fails(t *testing.T, cmd *exec.Cmd, code int) string {
	t.Helper()
	out, err := cmd.CombinedOutput()
	if exitCode(err) != code {
		t.Errorf("%s: %v, want exit code %d\n%s", strings.Join(cmd.Args[1:], " "), err, code, out)
	}
	return strings.Join(strings.Fields(string(out)), " ")
}

// wants checks that a text contains all words.
func wants(t *testing.T, text string, words ...string) {
	t.Helper()
	for _, word := range words {
		if !strings.Contains(text, word) {
			t.Errorf("%q is missing in:\n%s", word, text)
		}
	}
}

// TestGateDeniesVulnerableProvider mirrors a provider that was built with a vulnerable
// module. The scanner finds it in an offline database. With an exception, OpenTofu
// installs the version.
func TestGateDeniesVulnerableProvider(t *testing.T) {
	t.Parallel()
	const vulnerability = "GO-2022-1059"
	// 1. Serve a provider with this vulnerability.
	here := provider.CurrentPlatform()
	zip, err := fixture.BuildTime(t.Context(), filepath.Join(filepath.Dir(programs.timeModule), "vulnerable"), t.TempDir(), here)
	if err != nil {
		t.Fatal(err)
	}
	release, err := fixture.ReleaseTime(map[provider.Platform]string{here: zip})
	if err != nil {
		t.Fatal(err)
	}
	_, config := serveOrigin(t, origintest.Options{}, release)
	to := startRegistry(t) + "/mirror/{namespace}/{type}"
	// 2. The gate denies it, and OpenTofu doesn't find it.
	exceptions := filepath.Join(t.TempDir(), "exceptions.txt")
	write(t, exceptions, "# none\n")
	database, err := filepath.Abs(filepath.Join("testdata", "vulndb"))
	if err != nil {
		t.Fatal(err)
	}
	gate := example(t, "govulncheck.sh") + " {binary} " + exceptions + " -db file://" + database
	mirror := []string{"mirror", "hashicorp/time@" + fixture.TimeVersion, "--to", to, "--config", config}
	history := []string{"list", "hashicorp/time@" + fixture.TimeVersion, "--history", "--from", to, "--ca-file", world.caFile}
	for range 2 {
		wants(t, fails(t, gated(t, gate, mirror...), 4), "version is denied: contains "+vulnerability)
	}
	installation := run(t, programs.tofuOCI, "tofurc", to)
	wants(t, initializeInVain(t, installation), "registry.opentofu.org/hashicorp/time was not found")
	// 3. With an exception, OpenTofu installs it.
	write(t, exceptions, vulnerability+" 2100-01-01\n")
	output(t, gated(t, gate, mirror...))
	initialize(t, installation)
	if got := run(t, programs.tofuOCI, history...); strings.Count(got, "contains "+vulnerability) != 1 || !strings.Contains(got, "exceptions: "+vulnerability) {
		t.Errorf("history:\n%s", got)
	}
	// 4. After the exception has expired, the gate decides again about each new tag.
	write(t, exceptions, vulnerability+" 2001-01-01\n")
	layout := "oci-layout:" + filepath.ToSlash(t.TempDir()) + "/{namespace}/{type}"
	duplicate := []string{"copy", "hashicorp/time@" + fixture.TimeVersion, "--from", to, "--to", layout}
	wants(t, fails(t, gated(t, gate, duplicate...), 4), "version is denied: contains "+vulnerability)
}

// TestGateOfOpenPolicyAgent checks that a policy allows the first release, and denies
// a release without the signature of the first release's key.
func TestGateOfOpenPolicyAgent(t *testing.T) {
	t.Parallel()
	_, config := serveOrigin(t, origintest.Options{}, world.release, badRelease(t))
	to := startRegistry(t) + "/mirror/{namespace}/{type}"
	gate := "opa eval --format raw --stdin-input --data " + example(t, "policy.rego") + " data.release.answer"
	mirror := func(version string) *exec.Cmd {
		return gated(t, gate, "mirror", "hashicorp/time@"+version, "--to", to, "--config", config)
	}
	output(t, mirror(fixture.TimeVersion))
	wants(t, fails(t, mirror(badVersion), 4), "version is denied: the signing key has changed")
	if tags := tagsOf(t, to); !slices.Contains(tags, fixture.TimeVersion) || slices.Contains(tags, badVersion) {
		t.Errorf("tags %q", tags)
	}
}
