package lockfile_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/gofrs/flock"
	"github.com/google/go-cmp/cmp"

	"github.com/tofu-oci/tofu-oci/internal/bounded"
	"github.com/tofu-oci/tofu-oci/internal/testing/nouns"
	"github.com/tofu-oci/tofu-oci/internal/testing/patience"
	"github.com/tofu-oci/tofu-oci/pkg/lockfile"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// add returns a change that adds the selection of a provider.
func add(t *testing.T, address string) func(*lockfile.File) error {
	t.Helper()
	s := lockfile.Selection{Address: nouns.Address(t, address), Version: nouns.Version(t, "1.0.0")}
	return func(f *lockfile.File) error {
		f.Set(s)
		return nil
	}
}

// write writes a lock file to a new directory.
func write(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), ".terraform.lock.hcl")
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

// checkText checks the text of a file, which must be the only file in its directory.
func checkText(t *testing.T, path, want string) {
	t.Helper()
	got, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Error(diff)
	}
	if entries, err := os.ReadDir(filepath.Dir(path)); err != nil || len(entries) != 1 {
		t.Errorf("%v lie in the directory, %v", entries, err)
	}
}

const locked = "# mine\n\nprovider \"registry.opentofu.org/a/b\" {\n  version = \"1.0.0\"\n}\n"

func TestUpdateCreatesFile(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), ".terraform.lock.hcl")
	if _, err := lockfile.Read(path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("got %v for a missing file", err)
	}
	nothing := func(*lockfile.File) error { return nil }
	if changed, err := lockfile.Update(t.Context(), path, nothing); changed || err != nil {
		t.Fatal(changed, err)
	}
	if _, err := os.Lstat(path); err == nil {
		t.Error("an empty file was created")
	}
	for _, want := range []bool{true, false} {
		if changed, err := lockfile.Update(t.Context(), path, add(t, "a/b")); changed != want || err != nil {
			t.Fatal(changed, err)
		}
	}
	header := "# This file is maintained automatically by \"tofu init\".\n# Manual edits may be lost in future updates.\n"
	checkText(t, path, strings.Replace(locked, "# mine\n", header, 1))
	other, err := os.Stat(write(t, "")) // a file that was created with the same umask
	if err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode() != other.Mode() {
		t.Error(info, err)
	}
	f, err := lockfile.Read(path)
	if err != nil || len(f.Selections()) != 1 {
		t.Error(f, err)
	}
}

// TestUpdateWritesNothing checks that a file is not replaced if nothing changes.
func TestUpdateWritesNothing(t *testing.T) {
	t.Parallel()
	path := write(t, locked)
	before, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if changed, err := lockfile.Update(t.Context(), path, add(t, "a/b")); changed || err != nil {
		t.Fatal(changed, err)
	}
	if after, err := os.Stat(path); err != nil || !os.SameFile(before, after) || !after.ModTime().Equal(before.ModTime()) {
		t.Error("the file was written", err)
	}
	checkText(t, path, locked)
}

func TestUpdateFails(t *testing.T) {
	t.Parallel()
	failure := errors.New("the mirror is away")
	for name, test := range map[string]struct {
		ended  bool
		text   string
		change func(*lockfile.File) error
		is     func(error) bool
	}{
		"change fails": {text: locked, change: func(f *lockfile.File) error { return errors.Join(add(t, "c/d")(f), failure) },
			is: func(err error) bool { return errors.Is(err, failure) }},
		"refused":   {text: "x = 1\n", change: add(t, "c/d"), is: is(lockfile.ErrSyntax)},
		"too large": {text: strings.Repeat("#", lockfile.MaxSize+1), change: add(t, "c/d"), is: isA[*bounded.TooLargeError]},
		"no address": {text: locked, is: is(lockfile.ErrSyntax), change: func(f *lockfile.File) error {
			f.Set(lockfile.Selection{Version: nouns.Version(t, "1.0.0")})
			return nil
		}},
		"ended": {ended: true, text: locked, change: add(t, "c/d"), is: func(err error) bool { return errors.Is(err, context.Canceled) }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			if test.ended {
				cancel()
			}
			path := write(t, test.text)
			if changed, err := lockfile.Update(ctx, path, test.change); changed || !test.is(err) {
				t.Errorf("changed: %t; %v", changed, err)
			}
			checkText(t, path, test.text)
		})
	}
}

func is(target error) func(error) bool {
	return func(err error) bool { return errors.Is(err, target) }
}

func isA[T error](err error) bool {
	_, ok := errors.AsType[T](err)
	return ok
}

func TestUpdateWithoutDirectory(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "away")
	if _, err := lockfile.Update(t.Context(), filepath.Join(dir, "f"), add(t, "a/b")); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
	if _, err := os.Lstat(dir); err == nil {
		t.Error("the directory was created")
	}
}

// TestUpdateFollowsLink checks that links to files and directories are kept.
func TestUpdateFollowsLink(t *testing.T) {
	t.Parallel()
	path := write(t, "")
	dir := t.TempDir()
	link := filepath.Join(dir, "link")
	if err := os.Symlink(path, link); err != nil {
		t.Fatal(err)
	}
	if changed, err := lockfile.Update(t.Context(), link, add(t, "a/b")); !changed || err != nil {
		t.Fatal(changed, err)
	}
	if info, err := os.Lstat(link); err != nil || info.Mode()&fs.ModeSymlink == 0 {
		t.Error("the link was removed", err)
	}
	f, err := lockfile.Read(path)
	if err != nil || len(f.Selections()) != 1 {
		t.Error(f, err)
	}
	if lockfile.LockName(path) == lockfile.LockName(link) {
		t.Error("two files share a lock")
	}
}

// TestUpdateConcurrentChange checks that changes by a process that doesn't lock the
// file, such as OpenTofu, are not overwritten.
func TestUpdateConcurrentChange(t *testing.T) {
	t.Parallel()
	path := write(t, locked)
	_, err := lockfile.Update(t.Context(), path, func(f *lockfile.File) error {
		if err := os.WriteFile(path, []byte("# another's\n"), 0o644); err != nil {
			t.Error(err)
		}
		return add(t, "c/d")(f)
	})
	if !errors.Is(err, lockfile.ErrChanged) {
		t.Errorf("got %v", err)
	}
	if want := "lock file " + path + ": changed by another process; nothing was written"; err.Error() != want {
		t.Errorf("got %q, want %q", err, want)
	}
	checkText(t, path, "# another's\n")
}

// hold locks a file like a process that updates it.
func hold(t *testing.T, path string) *flock.Flock {
	t.Helper()
	l := flock.New(filepath.Dir(path), flock.SetFlag(os.O_RDONLY))
	if runtime.GOOS == "windows" {
		resolved, err := filepath.EvalSymlinks(path)
		if err != nil {
			t.Fatal(err)
		}
		l = flock.New(lockfile.LockName(resolved))
	}
	if ok, err := l.TryLock(); !ok || err != nil {
		t.Fatal(ok, err)
	}
	return l
}

// TestUpdateWaits checks that Update waits for another process, but only for a limited
// time. The clock is simulated.
func TestUpdateWaits(t *testing.T) {
	t.Parallel()
	path := write(t, locked)
	l := hold(t, path)
	synctest.Test(t, func(t *testing.T) {
		_, err := lockfile.Update(t.Context(), path, add(t, "c/d"))
		if want := fmt.Sprintf("lock file %s: locked by another process for more than %s", path, lockfile.MaxWait); provider.KindOf(err) != provider.Transient || err.Error() != want {
			t.Errorf("got %v", err)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), lockfile.MaxWait/2)
		defer cancel()
		_, err := lockfile.Update(ctx, path, add(t, "c/d"))
		if !errors.Is(err, context.DeadlineExceeded) || provider.KindOf(err) == provider.Transient {
			t.Errorf("got %v", err)
		}
	})
	checkText(t, path, locked)
	synctest.Test(t, func(t *testing.T) {
		done := make(chan error)
		go func() {
			_, err := lockfile.Update(t.Context(), path, add(t, "c/d"))
			done <- err
		}()
		synctest.Wait()
		if err := l.Close(); err != nil {
			t.Error(err)
		}
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	checkText(t, path, locked+"\nprovider \"registry.opentofu.org/c/d\" {\n  version = \"1.0.0\"\n}\n")
}

// Environment variables of child processes.
const (
	envPath = "TEST_LOCK_FILE"
	envName = "TEST_LOCK_NAME"
)

// rounds is the number of providers that each process adds.
const rounds = 10

// TestWork adds providers. It runs in the child processes and as a separate test.
func TestWork(t *testing.T) {
	t.Parallel()
	path := os.Getenv(envPath)
	if path == "" {
		path = filepath.Join(t.TempDir(), ".terraform.lock.hcl")
	}
	for i := range rounds {
		address := fmt.Sprintf("corp/type%s%d", os.Getenv(envName), i)
		if changed, err := lockfile.UpdateWithin(t.Context(), path, patience.Limit, add(t, address)); !changed || err != nil {
			t.Error(changed, err)
		}
	}
}

// TestConcurrentProcesses checks that all changes of concurrent processes are kept.
func TestConcurrentProcesses(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), ".terraform.lock.hcl")
	const processes = 4
	var started []*exec.Cmd
	for i := range processes {
		cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestWork$")
		cmd.Env = append(os.Environ(), envPath+"="+path, fmt.Sprintf("%s=%d-", envName, i))
		cmd.Stdout, cmd.Stderr = os.Stderr, os.Stderr
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		started = append(started, cmd)
	}
	for _, cmd := range started {
		if err := cmd.Wait(); err != nil {
			t.Error(err)
		}
	}
	f, err := lockfile.Read(path)
	if err != nil {
		t.Fatal(err)
	}
	var last provider.Address
	for _, s := range f.Selections() {
		if s.Address.Compare(last) <= 0 {
			t.Errorf("%s is not after %s", s.Address, last)
		}
		last = s.Address
	}
	if got := len(f.Selections()); got != processes*rounds {
		t.Errorf("%d selections, want %d", got, processes*rounds)
	}
}
