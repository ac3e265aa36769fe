//go:build !windows

package credentials_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// TestSaveMode checks that only the owner can read the file, and that a symbolic link
// to it is preserved.
func TestSaveMode(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	behind := w.write(t, "dotfiles/docker.json", `{}`)
	if err := os.Chmod(behind, 0o644); err != nil {
		t.Fatal(err)
	}
	link := w.path("home/.docker/config.json")
	if err := errors.Join(os.MkdirAll(filepath.Dir(link), 0o755), os.Symlink(behind, link)); err != nil {
		t.Fatal(err)
	}
	if _, err := w.keeper(t).Save(t.Context(), targetOf(t, "host.example"), basic("jane", canary)); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Lstat(link); err != nil || info.Mode().Type() != os.ModeSymlink {
		t.Errorf("the link is %v, %v", info, err)
	}
	if info, err := os.Stat(behind); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the file is %v, %v", info, err)
	}
	fresh := newWorld(t)
	if _, err := fresh.keeper(t).Save(t.Context(), targetOf(t, "host.example"), basic("jane", canary)); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(fresh.path("home/.docker")); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("the directory is %v, %v", info, err)
	}
}
