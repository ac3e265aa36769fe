//go:build unix

package module_test

import (
	"path/filepath"
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
	if d, err := module.ReadDirectory(t.Context(), dir, module.DirectoryOptions{}); err == nil || !strings.Contains(err.Error(), "more than 1ms") {
		t.Errorf("got %+v, %v", d, err)
	}
}
