//go:build unix

package e2e_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/crypto/bcrypt"

	"github.com/tofu-oci/tofu-oci/e2e/fixture"
	"github.com/tofu-oci/tofu-oci/internal/testing/origintest"
)

// keychain is a Docker credential helper. It stores each entry in a separate file in
// $KEYCHAIN.
const keychain = `#!/bin/sh
case $1 in
store) read -r login; server=${login#*ServerURL\":\"}; server=${server%%\"*} ;;
*) read -r server ;;
esac
file=$KEYCHAIN/$(printf %s "$server" | tr '/:' '__')
case $1 in
store) printf '%s' "$login" > "$file" ;;
erase) rm "$file" ;;
get) cat "$file" 2>/dev/null || { echo credentials not found in native keychain; exit 1; } ;;
esac
`

// TestLoginCommand logs in to a distribution registry with an htpasswd file. After
// login, tofu must install from the registry, and tofu-oci must mirror to it and pull
// from it. After logout, the registry must reject all three operations. One run of the
// test stores the credentials in Docker's file, and a second run stores them with a
// helper.
func TestLoginCommand(t *testing.T) {
	t.Parallel()
	hash, err := bcrypt.GenerateFromPassword([]byte(loginSecret), bcrypt.MinCost)
	if err != nil {
		t.Fatal(err)
	}
	htpasswd := filepath.Join(t.TempDir(), "htpasswd")
	write(t, htpasswd, loginName+":"+string(hash)+"\n")
	for name, file := range map[string]string{"in the file": "{\"psFormat\": \"x\"}\n", "with a helper": "{\"credsStore\": \"keychain\"}\n"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			u := newLoginUser(t, startRegistryWith(t, fmt.Sprintf("auth: {htpasswd: {realm: tests, path: '%s'}}", htpasswd)), file)

			u.check(t, 6, "")
			u.login(t, "wrong-"+loginSecret, 6)
			u.check(t, 6, "")
			text := u.login(t, loginSecret, 0)
			if !strings.Contains(text, "found by tofu-oci, tofu, docker, and oras") {
				t.Errorf("unexpected output of login: %s", text)
			}
			u.check(t, 0, fixture.TimeVersion)
			if text, code := u.runs(t, "logout", u.host); code != 0 || !strings.Contains(text, "removed the credentials for "+u.host) {
				t.Errorf("logout: exit code %d\n%s", code, text)
			}
			u.check(t, 6, "")
			left, err := os.ReadFile(filepath.Join(u.home, ".docker", "config.json"))
			if err != nil || strings.Contains(string(left), "\"auth\"") || !strings.Contains(string(left), strings.Trim(file, "{}\n")) {
				t.Errorf("unexpected content of the file: %s, %v", left, err)
			}
			if kept, err := os.ReadDir(filepath.Join(u.home, "keychain")); err != nil || len(kept) > 0 {
				t.Errorf("unexpected content of the helper: %v, %v", kept, err)
			}
		})
	}
}

// loginUser is a user with a home directory and a registry.
type loginUser struct{ host, home, config string }

func newLoginUser(t *testing.T, host, file string) loginUser {
	t.Helper()
	home := t.TempDir()
	u := loginUser{host, home, filepath.Join(home, "tofurc")}
	write(t, filepath.Join(home, ".docker", "config.json"), file)
	write(t, filepath.Join(home, "bin", "docker-credential-keychain"), keychain)
	if err := errors.Join(os.Chmod(filepath.Join(home, "bin", "docker-credential-keychain"), 0o700), os.Mkdir(filepath.Join(home, "keychain"), 0o700)); err != nil {
		t.Fatal(err)
	}
	_, origin := serveOrigin(t, origintest.Options{}, world.release)
	hostBlock, err := os.ReadFile(origin)
	if err != nil {
		t.Fatal(err)
	}
	write(t, u.config, fmt.Sprintf("%s\nprovider_installation {\n  oci_mirror {\n    repository_template = \"%s/acme/${namespace}/${type}\"\n    include = [\"registry.opentofu.org/*/*\"]\n  }\n}\n", hostBlock, host))
	return u
}

// command returns a command that this user runs.
func (u loginUser) command(t *testing.T, program string, args ...string) *exec.Cmd {
	t.Helper()
	cmd := command(t, program, args...)
	cmd.Env = append(cmd.Env, "HOME="+u.home, "DOCKER_CONFIG=", "XDG_CONFIG_HOME=", "XDG_RUNTIME_DIR=", "TF_CLI_CONFIG_FILE="+u.config,
		"KEYCHAIN="+filepath.Join(u.home, "keychain"), "PATH="+filepath.Join(u.home, "bin")+string(os.PathListSeparator)+os.Getenv("PATH"))
	return cmd
}

// runs executes tofu-oci and returns its output, which must not contain a secret.
func (u loginUser) runs(t *testing.T, args ...string) (text string, code int) {
	t.Helper()
	return ended(t, u.command(t, programs.tofuOCI, args...))
}

func (u loginUser) login(t *testing.T, password string, want int) (text string) {
	t.Helper()
	cmd := u.command(t, programs.tofuOCI, "login", u.host, "--username", loginName, "--password-stdin")
	cmd.Stdin = strings.NewReader(password + "\n")
	text, code := ended(t, cmd)
	if code != want {
		t.Errorf("login: exit code %d, want %d\n%s", code, want, text)
	}
	return text
}

// check runs mirror, pull, and tofu init. tofu-oci must exit with code want. tofu must
// install version. If version is empty, tofu must fail.
func (u loginUser) check(t *testing.T, want int, version string) {
	t.Helper()
	for _, args := range [][]string{{"mirror", "hashicorp/time"}, {"pull", "hashicorp/time", "--dir", t.TempDir()}} {
		if text, code := u.runs(t, args...); code != want {
			t.Errorf("%s: exit code %d, want %d\n%s", args[0], code, want, text)
		}
	}
	dir := t.TempDir()
	write(t, filepath.Join(dir, "main.tf"), "terraform {\n  required_providers {\n    time = {\n      source  = \"hashicorp/time\"\n      version = \"~> 0.14\"\n    }\n  }\n}\n")
	cmd := u.command(t, programs.tofu, "init", "-input=false", "-no-color")
	cmd.Dir = dir
	text, code := ended(t, cmd)
	if (code == 0) != (version != "") || !strings.Contains(text, "Installed hashicorp/time v"+version) && version != "" {
		t.Errorf("tofu init: exit code %d\n%s", code, text)
	}
}

// ended runs a program and returns its output and its exit code.
func ended(t *testing.T, cmd *exec.Cmd) (text string, code int) {
	t.Helper()
	out, err := cmd.CombinedOutput()
	if strings.Contains(string(out), loginSecret) {
		t.Errorf("the password is in the output of %v", cmd.Args)
	}
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return string(out), exit.ExitCode()
	}
	if err != nil {
		t.Fatal(err)
	}
	return string(out), 0
}
