//go:build !windows

package atomicfile_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/tofu-oci/tofu-oci/internal/atomicfile"
)

// TestOwner checks that a user's file keeps its owner when root replaces it, for
// example with sudo.
func TestOwner(t *testing.T) {
	t.Parallel()
	path := writeNamed(t, "file", "one")
	owner := os.Geteuid()
	if owner == 0 {
		owner = 1234
		must(t, os.Chown(path, owner, owner))
	}
	must(t, read(t, path).Replace([]byte("two"), 0o600))
	info, err := os.Stat(path)
	must(t, err)
	if got := info.Sys().(*syscall.Stat_t).Uid; int(got) != owner || info.Mode().Perm() != 0o600 {
		t.Errorf("it is of %d, %v; want %d", got, info.Mode(), owner)
	}
}

// TestLinks checks that a symbolic link is preserved and that its target is replaced.
func TestLinks(t *testing.T) {
	t.Parallel()
	behind := writeNamed(t, "dotfiles/file", "one")
	dir := t.TempDir()
	link, dangling := filepath.Join(dir, "link"), filepath.Join(dir, "dangling")
	if err := errors.Join(os.Symlink(behind, link), os.Symlink(filepath.Join(dir, "nowhere"), dangling)); err != nil {
		t.Fatal(err)
	}
	must(t, read(t, link).Replace([]byte("two"), 0o600))
	if info, err := os.Lstat(link); err != nil || info.Mode().Type() != fs.ModeSymlink {
		t.Errorf("the link is %v, %v", info, err)
	}
	if text := string(read(t, behind).Text); text != "two" {
		t.Errorf("behind it is %q", text)
	}
	if _, err := atomicfile.ReadUserFile(dangling, 100); err == nil {
		t.Error("a link that leads nowhere is read")
	}
}
