package e2e_test

import (
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/tofu-oci/tofu-oci/e2e/fixture"
	"github.com/tofu-oci/tofu-oci/internal/testing/origintest"
	"github.com/tofu-oci/tofu-oci/internal/testing/patience"
	"github.com/tofu-oci/tofu-oci/internal/testing/testca"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// startServe starts tofu-oci serve.
func startServe(t *testing.T, args ...string) *fixture.Server {
	t.Helper()
	server, err := fixture.StartServer(t.Context(), programs.tofuOCI, t.TempDir(), world.ca, append(args, "--ca-file", world.caFile, "--timeout", patience.Limit.String())...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Kill)
	return server
}

// client is a program that installs providers.
type client struct{ name, program string }

func clients() []client {
	return []client{{"tofu", programs.tofu}, {"terraform", programs.terraform}}
}

// install runs init and apply for hashicorp/time from a source address. It returns the
// working directory.
func (c client) install(t *testing.T, source, cliConfig string, more ...string) (dir string) {
	t.Helper()
	dir = t.TempDir()
	write(t, filepath.Join(dir, "main.tf"), strings.ReplaceAll(mainTF, `"hashicorp/time"`, strconv.Quote(source)))
	c.run(t, dir, cliConfig, append([]string{"init"}, more...)...)
	c.run(t, dir, cliConfig, "apply", "-auto-approve")
	return dir
}

func (c client) run(t *testing.T, dir, cliConfig string, args ...string) string {
	t.Helper()
	config := filepath.Join(t.TempDir(), "cli.tofurc")
	write(t, config, cliConfig)
	cmd := command(t, c.program, append(args, "-input=false", "-no-color")...)
	cmd.Dir, cmd.Env = dir, append(cmd.Env, "TF_CLI_CONFIG_FILE="+config)
	return output(t, cmd)
}

func networkMirrorAt(url string) string {
	return fmt.Sprintf("provider_installation {\n  network_mirror {\n    url = %q\n  }\n}\n", url+"/mirror/")
}

const timeAddress = "registry.opentofu.org/hashicorp/time"

// TestServe installs and uses a real provider with the real clients over TLS. It tests
// both protocols, with a registry and with an image layout.
func TestServe(t *testing.T) { //nolint:tparallel // the log is read after the subtests
	t.Parallel()
	m := newTimeMirror(t, string(provider.DefaultHost))
	layout := "oci-layout:" + filepath.ToSlash(t.TempDir()) + "/{type}"
	_, config := serveOrigin(t, origintest.Options{}, world.release)
	run(t, programs.tofuOCI, "mirror", "hashicorp/time", "--to", layout, "--config", config, "--ca-file", world.caFile)
	for name, from := range map[string]string{"registry": m.repository, "layout": layout} {
		server := startServe(t, "--from", from)
		url, host := server.URL, strings.TrimPrefix(server.URL, "https://")
		for _, c := range clients() {
			t.Run(name+"/mirror/"+c.name, func(t *testing.T) {
				c.install(t, timeAddress, networkMirrorAt(url))
			})
			t.Run(name+"/registry/"+c.name, func(t *testing.T) {
				dir := t.TempDir()
				write(t, filepath.Join(dir, "main.tf"), strings.ReplaceAll(mainTF, `"hashicorp/time"`, strconv.Quote(host+"/hashicorp/time")))
				out := c.run(t, dir, "", "init")
				if !strings.Contains(out, "self-signed") && !strings.Contains(out, "signed, key ID") {
					t.Errorf("no report of a verified signature:\n%s", out)
				}
				c.run(t, dir, "", "apply", "-auto-approve")
			})
		}
		out, err := server.Stop()
		if err != nil || !strings.Contains(out, "route=archive") {
			t.Errorf("the log contains no archives: %v\n%s", err, out)
		}
	}
}

// TestServeLockFiles checks that a lock file written with one protocol is valid for the
// second protocol and for OCI.
func TestServeLockFiles(t *testing.T) {
	t.Parallel()
	m := newTimeMirror(t, string(provider.DefaultHost))
	url := startServe(t, "--from", m.repository).URL
	byRegistry := fixture.CLIConfig(url)
	for _, c := range clients() {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			dir := c.install(t, timeAddress, byRegistry)
			locked := readLock(t, dir)
			for _, cli := range []string{networkMirrorAt(url), byRegistry} {
				if err := os.RemoveAll(filepath.Join(dir, ".terraform")); err != nil {
					t.Fatal(err)
				}
				c.run(t, dir, cli, "init", "-lockfile=readonly")
			}
			if now := readLock(t, dir); string(now) != string(locked) {
				t.Errorf("the lock file changed from\n%s\nto\n%s", locked, now)
			}
			if c.program == programs.tofu {
				if err := os.RemoveAll(filepath.Join(dir, ".terraform")); err != nil {
					t.Fatal(err)
				}
				c.run(t, dir, run(t, programs.tofuOCI, "tofurc", m.repository), "init", "-lockfile=readonly")
			}
			// Hashes from the network mirror protocol are also valid for the registry
			// protocol.
			dir = c.install(t, timeAddress, networkMirrorAt(url))
			if err := os.RemoveAll(filepath.Join(dir, ".terraform")); err != nil {
				t.Fatal(err)
			}
			c.run(t, dir, byRegistry, "init", "-lockfile=readonly")
		})
	}
}

// TestServeWithTokens checks that the clients send their token with both protocols, but
// download archives and signatures without the token.
func TestServeWithTokens(t *testing.T) { //nolint:tparallel // the log is read after the subtests
	t.Parallel()
	m := newTimeMirror(t, string(provider.DefaultHost))
	hash := sha256.Sum256([]byte("canary-of-ci"))
	rules := filepath.Join(t.TempDir(), "rules.hcl")
	write(t, rules, fmt.Sprintf("token \"ci\" {\n  sha256 = %q\n  allow = [\"hashicorp/*\"]\n}\n", hex.EncodeToString(hash[:])))
	server := startServe(t, "--from", m.repository, "--serve-config", rules)
	url, host := server.URL, strings.TrimPrefix(server.URL, "https://")
	for _, c := range clients() {
		t.Run(c.name, func(t *testing.T) {
			c.install(t, timeAddress, login(url)+networkMirrorAt(url))
			c.install(t, host+"/hashicorp/time", login(url))
			c.refused(t, timeAddress, networkMirrorAt(url), needsLogin)
		})
	}
	out, err := server.Stop()
	if err != nil || strings.Contains(out, "canary") || !strings.Contains(out, "caller=ci") {
		t.Errorf("the log contains no caller, or contains a secret: %v\n%s", err, out)
	}
}

// trusting returns a client that trusts the given authority and does not reuse
// connections.
func trusting(t *testing.T, ca *testca.CA) *http.Client {
	t.Helper()
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(ca.PEM())
	return &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}, DisableKeepAlives: true}}
}
