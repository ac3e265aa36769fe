//go:build unix

package module_test

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/tofu-oci/tofu-oci/pkg/module"
)

// TestReadWorkTreeWithPipe checks that a repository whose configuration includes a named
// pipe, which git reads forever, does not hold a command.
func TestReadWorkTreeWithPipe(t *testing.T) { //nolint:paralleltest // changes the time limit of all calls
	defer module.SetGitTimeout(time.Millisecond)()
	dir := writeFiles(t, map[string]string{"main.tf": "# one\n"})
	git(t, dir, "init", "--quiet")
	pipe := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	git(t, dir, "config", "include.path", pipe)
	if d, err := module.ReadDirectory(t.Context(), dir); err == nil || !strings.Contains(err.Error(), "more than 1ms") {
		t.Errorf("got %+v, %v", d, err)
	}
}

// TestReadWorkTreeWithSudo checks that a command that a user runs with sudo reads the
// user's repository.
func TestReadWorkTreeWithSudo(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("requires root")
	}
	const user = 65534
	dir := writeFiles(t, map[string]string{"main.tf": "# one\n", ".env": "secret\n"})
	git(t, dir, "init", "--quiet")
	git(t, dir, "add", "main.tf")
	for _, name := range []string{dir, filepath.Join(dir, ".git")} {
		if err := os.Chown(name, user, user); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("GIT_CONFIG_GLOBAL", os.DevNull) // without safe.directory
	t.Setenv("GIT_CONFIG_COUNT", "0")
	if _, err := module.ReadDirectory(t.Context(), dir); err == nil || !strings.Contains(err.Error(), "dubious ownership") {
		t.Errorf("without SUDO_UID: %v", err)
	}
	t.Setenv("SUDO_UID", strconv.Itoa(user))
	if d, err := module.ReadDirectory(t.Context(), dir); err != nil || !slices.Equal(paths(d), []string{"main.tf"}) {
		t.Errorf("with SUDO_UID: got %v, error %v", paths(d), err)
	}
}
