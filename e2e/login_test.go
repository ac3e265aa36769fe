//go:build unix

package e2e_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/crypto/bcrypt"

	"github.com/tofu-oci/tofu-oci/e2e/fixture"
	"github.com/tofu-oci/tofu-oci/internal/testing/origintest"
)

const (
	loginName   = "robot"
	loginSecret = "canary-e2e-password"
)

// TestRegistryCredentials tests a distribution registry with basic authentication and
// with a token server. With the same configuration, tofu-oci must push and pull, and
// tofu must install. Without credentials, the registry must reject all three
// operations.
func TestRegistryCredentials(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	hash, err := bcrypt.GenerateFromPassword([]byte(loginSecret), bcrypt.MinCost)
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, "htpasswd"), loginName+":"+string(hash)+"\n")
	tokens, err := fixture.NewTokenServer(loginName, loginSecret)
	if err != nil {
		t.Fatal(err)
	}
	realm, stop, err := fixture.Serve(t.Context(), world.ca, tokens)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(stop)
	t.Cleanup(func() {
		for _, scope := range tokens.Issued() {
			if scope != "" && !strings.HasPrefix(scope, "repository:acme/hashicorp/time:") {
				t.Errorf("unexpected token request for %q", scope)
			}
		}
		if len(tokens.Issued()) == 0 {
			t.Error("no token was requested")
		}
	})
	write(t, filepath.Join(dir, "tokens.pem"), string(tokens.PEM()))
	for name, access := range map[string]string{
		"basic": fmt.Sprintf("auth: {htpasswd: {realm: tests, path: '%s'}}", filepath.Join(dir, "htpasswd")),
		"token": fmt.Sprintf("auth: {token: {realm: '%s/token', service: %s, issuer: %s, rootcertbundle: '%s'}}",
			realm, fixture.AuthService, fixture.AuthIssuer, filepath.Join(dir, "tokens.pem")),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			host := startRegistryWith(t, access)
			_, origin := serveOrigin(t, origintest.Options{}, world.release)
			hostBlock, err := os.ReadFile(origin)
			if err != nil {
				t.Fatal(err)
			}
			open := fmt.Sprintf("%s\nprovider_installation {\n  oci_mirror {\n    repository_template = \"%s/acme/${namespace}/${type}\"\n    include = [\"registry.opentofu.org/*/*\"]\n  }\n}\n", hostBlock, host)
			login := fmt.Sprintf("oci_credentials \"%s/acme\" {\n  username = %q\n  password = %q\n}\n", host, loginName, loginSecret)
			with, without := filepath.Join(t.TempDir(), "with"), filepath.Join(t.TempDir(), "without")
			write(t, with, open+login)
			write(t, without, open)

			// Without --to and --from, tofu-oci uses the repository in the
			// configuration.
			if out, code := exits(t, "mirror", "hashicorp/time", "--config", without); code != 6 {
				t.Errorf("mirror without credentials: exit code %d\n%s", code, out)
			}
			if out, code := exits(t, "mirror", "hashicorp/time", "--config", with); code != 0 {
				t.Fatalf("mirror: exit code %d\n%s", code, out)
			}
			if out, code := exits(t, "pull", "hashicorp/time", "--config", without, "--dir", t.TempDir()); code != 6 {
				t.Errorf("pull without credentials: exit code %d\n%s", code, out)
			}
			if out, code := exits(t, "pull", "hashicorp/time", "--config", with, "--dir", t.TempDir()); code != 0 {
				t.Errorf("pull: exit code %d\n%s", code, out)
			}
			if version, _ := tofuInstalls(t, with, "~> 0.14"); version != fixture.TimeVersion {
				t.Errorf("tofu installs %q", version)
			}
			if version, _ := tofuInstalls(t, without, "~> 0.14"); version != "" {
				t.Errorf("tofu installs %q without credentials", version)
			}
		})
	}
}

// exits runs tofu-oci and returns its output, which must not contain a secret.
func exits(t *testing.T, args ...string) (out string, code int) {
	t.Helper()
	return ended(t, command(t, programs.tofuOCI, args...))
}
