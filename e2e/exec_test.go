package e2e_test

import (
	"archive/zip"
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// job is a directory in which exec runs commands, and the machine's store.
type job struct {
	timeMirror
	dir, store string
}

func (m timeMirror) job(t *testing.T, store string) job {
	t.Helper()
	j := job{m, t.TempDir(), store}
	write(t, filepath.Join(j.dir, "main.tf"), mainTF)
	return j
}

// exec returns a tofu-oci exec command that runs in the directory.
func (j job) exec(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	all := append(append([]string{"exec", "--cache", j.store}, j.flags...), "--")
	cmd := command(t, programs.tofuOCI, append(all, args...)...)
	cmd.Dir = j.dir
	return cmd
}

// TestTerraformInstallsFromOCI checks that Terraform installs and applies providers
// from both registry.terraform.io and registry.opentofu.org.
func TestTerraformInstallsFromOCI(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		host  string
		flags []string
	}{
		"its own address": {host: terraformHost},
		"an alias":        {host: provider.DefaultHost.String(), flags: []string{"--alias", terraformHost + "/*/*=" + provider.DefaultHost.String() + "/*/*"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := newTimeMirror(t, test.host)
			m.flags = append(m.flags, test.flags...)
			j := m.job(t, t.TempDir())
			output(t, j.exec(t, programs.terraform, "init", "-input=false", "-no-color"))
			locked := readLock(t, j.dir)
			if h1, zh := bytes.Count(locked, []byte(`"h1:`)), bytes.Count(locked, []byte(`"zh:`)); h1 != len(world.platforms) || zh != len(world.platforms) {
				t.Errorf("for %d platforms, got %d h1 and %d zh hashes:\n%s", len(world.platforms), h1, zh, locked)
			}
			output(t, j.exec(t, programs.terraform, "init", "-input=false", "-no-color", "-lockfile=readonly"))
			output(t, j.exec(t, programs.terraform, "apply", "-input=false", "-no-color", "-auto-approve"))
			if now := readLock(t, j.dir); !bytes.Equal(now, locked) {
				t.Errorf("terraform changed the file from\n%s\nto\n%s", locked, now)
			}
			// Without exec, Terraform can still use the installed providers.
			again := command(t, programs.terraform, "output", "unix")
			again.Dir = j.dir
			if unix := strings.TrimSpace(output(t, again)); unix == "" || unix == "0" {
				t.Errorf("unexpected value of time_static: %q", unix)
			}
		})
	}
}

// TestJobsShareOneStore starts ten concurrent jobs, five for each client, with an empty store.
// All jobs must install the provider, and the store must contain only one zip and one
// unpacked package. Each directory has its own copy, so no client can write into the
// store.
func TestJobsShareOneStore(t *testing.T) {
	t.Parallel()
	const jobs = 10
	m, store := newTimeMirror(t, provider.DefaultHost.String()), t.TempDir()
	m.flags = append(m.flags, "--alias", terraformHost+"/*/*="+provider.DefaultHost.String()+"/*/*")
	clients := []string{programs.tofu, programs.terraform}
	var all []job
	var commands []*exec.Cmd
	for i := range jobs {
		j := m.job(t, store)
		all = append(all, j)
		commands = append(commands, j.exec(t, clients[i%2], "init", "-input=false", "-no-color"))
	}
	errs := make([]error, jobs)
	var group sync.WaitGroup
	for i, cmd := range commands {
		group.Go(func() {
			if out, err := cmd.CombinedOutput(); err != nil {
				errs[i] = fmt.Errorf("%s: %w\n%s", strings.Join(cmd.Args, " "), err, out)
			}
		})
	}
	group.Wait()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
	packed, unpacked := zipSizes(t, world.release.Archives[provider.CurrentPlatform()].Path)
	if used := diskUsage(t, store); used < packed+unpacked || used > packed+unpacked+1<<20 {
		t.Errorf("the store takes %d bytes; a zip has %d and unpacked %d", used, packed, unpacked)
	}
	for i, j := range all {
		if used := diskUsage(t, filepath.Join(j.dir, ".terraform")); used < unpacked || used > unpacked+1<<20 {
			t.Errorf("a job stores %d bytes; a package has %d", used, unpacked)
		}
		output(t, j.exec(t, clients[i%2], "apply", "-input=false", "-no-color", "-auto-approve"))
	}
}

// zipSizes returns a zip's size and the total size of its unpacked content.
func zipSizes(t *testing.T, path string) (packed, unpacked int64) {
	t.Helper()
	archive, err := zip.OpenReader(path)
	if err != nil {
		t.Fatal(err)
	}
	defer archive.Close()
	for _, f := range archive.File {
		packed += int64(f.CompressedSize64)
		unpacked += int64(f.UncompressedSize64)
	}
	return packed, unpacked
}

// diskUsage returns the total size of all files below a directory. It counts hard links
// to the same file once, and does not follow symbolic links.
func diskUsage(t *testing.T, dir string) (bytes int64) {
	t.Helper()
	var seen []os.FileInfo
	err := filepath.WalkDir(dir, func(_ string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return err
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		for _, other := range seen {
			if os.SameFile(info, other) {
				return nil
			}
		}
		seen = append(seen, info)
		bytes += info.Size()
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return bytes
}

// TestWarmStoreNeedsNoNetwork installs providers in a new checkout after the registry
// has stopped.
func TestWarmStoreNeedsNoNetwork(t *testing.T) {
	t.Parallel()
	m := newTimeMirror(t, provider.DefaultHost.String())
	first := m.job(t, t.TempDir())
	output(t, first.exec(t, programs.tofu, "init", "-input=false", "-no-color"))
	m.stop()
	second := m.job(t, first.store)
	write(t, filepath.Join(second.dir, ".terraform.lock.hcl"), string(readLock(t, first.dir)))
	for _, client := range []string{"init", "apply"} {
		args := []string{programs.tofu, client, "-input=false", "-no-color"}
		if client == "apply" {
			args = append(args, "-auto-approve")
		}
		output(t, second.exec(t, args...))
	}
}
