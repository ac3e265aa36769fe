//go:build unix

package e2e_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/tofu-oci/tofu-oci/e2e/fixture"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// TestLaunch starts real providers of both plugin protocols, both before and after they
// are pushed to a registry.
func TestLaunch(t *testing.T) {
	t.Parallel()
	here := provider.CurrentPlatform()
	six := t.TempDir()
	if err := fixture.BuildProtocol6(t.Context(), programs.timeModule, six); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ dir, address, version, want string }{
		{dist(t, world.platforms...), "hashicorp/time", fixture.TimeVersion, "protocol 5, 4 resources, 0 data sources, 3 functions, 0 ephemeral resources"},
		{six, "acme/six", "1.0.0", "protocol 6, 1 resources, 2 data sources, 1 functions, 1 ephemeral resources"},
	} {
		temporary, err := os.MkdirTemp("", "e2e") //nolint:usetesting // socket paths must be short
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = os.RemoveAll(temporary) })
		to := filepath.Join(t.TempDir(), "layout")
		want := regexp.MustCompile(fmt.Sprintf(`(?m)^launched \S+%s %s for %s: %s, started in [0-9.hms]+, [0-9]+ MiB of memory$`,
			regexp.QuoteMeta(c.address), regexp.QuoteMeta(c.version), here, c.want))
		for _, args := range [][]string{
			{"publish", c.dir, "--provider", c.address, "--to", "oci-layout:" + to, "--launch"},
			{"verify", c.address, "--from", "oci-layout:" + to, "--launch"},
		} {
			out := launched(t, command(t, programs.tofuOCI, args...), temporary)
			if here.OS == "linux" && !want.MatchString(out) || !strings.Contains(out, c.want) {
				t.Errorf("%s: unexpected output:\n%s", args[0], out)
			}
		}
		if left, err := os.ReadDir(temporary); err != nil || len(left) > 0 {
			t.Errorf("remaining processes: %v, error %v", left, err)
		}
		if _, err := os.Stat(filepath.Join(to, "index.json")); err != nil {
			t.Error(err)
		}
	}
}

// launched runs a command with its own directory for temporary files. It returns the
// command's stderr.
func launched(t *testing.T, cmd *exec.Cmd, temporary string) string {
	t.Helper()
	var stderr bytes.Buffer
	cmd.Env = append(cmd.Env, "TMPDIR="+temporary)
	cmd.Stderr = &stderr
	if err := cmd.Run(); err != nil {
		t.Fatalf("%v\n%s", err, &stderr)
	}
	return stderr.String()
}
