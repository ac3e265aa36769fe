package e2e_test

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// TestServeHosts serves two repositories with the same name, each for a different host.
// The real clients install each provider by its own address. Both protocols must
// require permission for that address.
func TestServeHosts(t *testing.T) {
	t.Parallel()
	const terraformHost = "registry.terraform.io"
	public, private := newTimeMirror(t, string(provider.DefaultHost)), newTimeMirror(t, terraformHost)
	hash := sha256.Sum256([]byte("canary-of-ci"))
	rules := filepath.Join(t.TempDir(), "rules.hcl")
	write(t, rules, fmt.Sprintf("anonymous {\n  allow = [\"hashicorp/*\"]\n}\ntoken \"ci\" {\n  sha256 = %q\n  allow = [%q]\n}\n", hex.EncodeToString(hash[:]), terraformHost+"/*/*"))
	both := startServe(t, "--from", public.repository, "--from", private.repository, "--serve-config", rules).URL
	alone := startServe(t, "--from", private.repository, "--serve-config", rules).URL
	byRegistry := strings.TrimPrefix(alone, "https://") + "/hashicorp/time"
	for _, c := range clients() {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			c.install(t, timeAddress, networkMirrorAt(both))
			c.install(t, terraformHost+"/hashicorp/time", login(both)+networkMirrorAt(both))
			c.install(t, byRegistry, login(alone))
			c.refused(t, terraformHost+"/hashicorp/time", networkMirrorAt(both), needsLogin)
			c.refused(t, byRegistry, "", needsLogin)
		})
	}
}

// needsLogin is the part of both clients' messages for 401 and 403.
const needsLogin = "authentication"

// login returns the credentials block for a server.
func login(url string) string {
	return fmt.Sprintf("credentials %q {\n  token = %q\n}\n", strings.TrimPrefix(url, "https://"), "canary-of-ci")
}

// refused checks that a client cannot install a provider, and that the client's output
// contains the string why.
func (c client) refused(t *testing.T, source, cliConfig, why string) {
	t.Helper()
	dir := t.TempDir()
	write(t, filepath.Join(dir, "main.tf"), strings.ReplaceAll(mainTF, `"hashicorp/time"`, strconv.Quote(source)))
	config := filepath.Join(dir, "cli.tofurc")
	write(t, config, cliConfig)
	cmd := command(t, c.program, "init", "-input=false", "-no-color")
	cmd.Dir, cmd.Env = dir, append(cmd.Env, "TF_CLI_CONFIG_FILE="+config)
	out, err := cmd.CombinedOutput()
	if words := strings.Join(strings.Fields(string(out)), " "); err == nil || !strings.Contains(words, why) {
		t.Errorf("%s: %v\n%s", source, err, out)
	}
}
