package e2e_test

import (
	"archive/zip"
	"bytes"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/opencontainers/go-digest"

	"github.com/tofu-oci/tofu-oci/e2e/fixture"
	"github.com/tofu-oci/tofu-oci/internal/testing/origintest"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// TestExecInstallsOnlyLockedProviders checks that the real clients can't install a
// provider that neither the lock file nor the --from repositories contain, although the
// origin registry has it and the user's configuration allows direct installation. With
// --allow-direct, they install it.
func TestExecInstallsOnlyLockedProviders(t *testing.T) {
	t.Parallel()
	const nothing = "# nothing yet\n"
	required := strings.Replace(mainTF, `"hashicorp/time"`, `"registry.opentofu.org/hashicorp/time"`, 1)
	// called makes the root module require a provider only through a module that init
	// downloads.
	called := func(t *testing.T) string {
		t.Helper()
		module := t.TempDir()
		write(t, filepath.Join(module, "main.tf"), required)
		return "module \"m\" {\n  source = \"" + filepath.ToSlash(module) + "\"\n}\n"
	}
	for name, configuration := range map[string]func(*testing.T) string{
		"root module":       func(*testing.T) string { return required },
		"downloaded module": called,
	} {
		for client, program := range map[string]string{"tofu": programs.tofu, "terraform": programs.terraform} {
			t.Run(name+" "+client, func(t *testing.T) {
				t.Parallel()
				origin, config := serveOrigin(t, origintest.Options{}, world.release)
				write(t, config, readFile(t, config)+"provider_installation {\n  direct {}\n}\n")
				m := timeMirror{flags: []string{"--from", startRegistry(t) + "/empty/{namespace}/{type}", "--config", config, "--ca-file", world.caFile}}
				j := m.job(t, t.TempDir())
				write(t, filepath.Join(j.dir, "main.tf"), configuration(t))
				write(t, filepath.Join(j.dir, ".terraform.lock.hcl"), nothing)
				for _, args := range [][]string{{"init", "-input=false", "-no-color"}, {"init", "-input=false", "-no-color", "-upgrade"}} {
					j.refuses(t, 5, "tofu-oci mirror 'registry.opentofu.org/hashicorp/time' --to ", nil, append([]string{program}, args...)...)
				}
				if diff := cmp.Diff(map[origintest.Kind]int{}, origin.Requests()); diff != "" {
					t.Errorf("requests to the origin registry: %s", diff)
				}
				if found, err := filepath.Glob(filepath.Join(j.dir, ".terraform", "providers", "*", "*", "*", "*", "*")); err != nil || len(found) > 0 {
					t.Errorf("installed %v, %v", found, err)
				}
				if locked := string(readLock(t, j.dir)); locked != nothing {
					t.Errorf("the lock file is %s", locked)
				}
				j.flags = append(j.flags, "--allow-direct")
				output(t, j.exec(t, program, "init", "-input=false", "-no-color"))
				if origin.Requests()[origintest.Zip] == 0 || !strings.Contains(string(readLock(t, j.dir)), fixture.TimeVersion) {
					t.Error("nothing was installed from the origin registry")
				}
			})
		}
	}
}

// TestExecStateProvider checks that a provider that only the state requires isn't
// installed past the --from repositories.
func TestExecStateProvider(t *testing.T) {
	t.Parallel()
	m := newTimeMirror(t, provider.DefaultHost.String())
	first := m.job(t, t.TempDir())
	output(t, first.exec(t, programs.tofu, "init", "-input=false", "-no-color"))
	output(t, first.exec(t, programs.tofu, "apply", "-input=false", "-no-color", "-auto-approve"))

	origin, config := serveOrigin(t, origintest.Options{}, world.release)
	m.flags = append(m.flags, "--config", config)
	second := m.job(t, t.TempDir())
	write(t, filepath.Join(second.dir, "main.tf"), "terraform {}\n")
	write(t, filepath.Join(second.dir, "terraform.tfstate"), readFile(t, filepath.Join(first.dir, "terraform.tfstate")))
	write(t, filepath.Join(second.dir, ".terraform.lock.hcl"), "# nothing yet\n")
	cmd := second.exec(t, programs.tofu, "init", "-input=false", "-no-color")
	if out, err := cmd.CombinedOutput(); err == nil || cmd.ProcessState.ExitCode() != 1 {
		t.Errorf("exit code %d\n%s", cmd.ProcessState.ExitCode(), out)
	}
	if requests := origin.Requests(); len(requests) > 0 {
		t.Errorf("requests to the origin registry: %v", requests)
	}
}

// TestInitAfterExecKeepsCache runs a plain init, which installs another build of the
// version, in a directory in which exec has installed the provider. The cache must not
// change, even if the test runs as root.
func TestInitAfterExecKeepsCache(t *testing.T) {
	t.Parallel()
	for client, program := range map[string]string{"tofu": programs.tofu, "terraform": programs.terraform} {
		t.Run(client, func(t *testing.T) {
			t.Parallel()
			host := map[string]string{"tofu": provider.DefaultHost.String(), "terraform": terraformHost}[client]
			m := newTimeMirror(t, host)
			j := m.job(t, t.TempDir())
			output(t, j.exec(t, program, "init", "-input=false", "-no-color"))
			before := digests(t, j.store)

			other := t.TempDir()
			dir := filepath.Join(other, host, "hashicorp", "time")
			rebuilt := filepath.Join(dir, "terraform-provider-time_"+fixture.TimeVersion+"_"+provider.CurrentPlatform().String()+".zip")
			rebuild(t, world.release.Archives[provider.CurrentPlatform()].Path, rebuilt)
			config := filepath.Join(t.TempDir(), "tofurc")
			write(t, config, "provider_installation {\n  filesystem_mirror {\n    path = \""+filepath.ToSlash(other)+"\"\n  }\n}\n")
			if err := os.Remove(filepath.Join(j.dir, ".terraform.lock.hcl")); err != nil {
				t.Fatal(err)
			}
			cmd := command(t, program, "init", "-input=false", "-no-color")
			cmd.Dir, cmd.Env = j.dir, append(cmd.Env, "TF_CLI_CONFIG_FILE="+config)
			// OpenTofu itself refuses to replace the package.
			if out, err := cmd.CombinedOutput(); (err == nil) != (client == "terraform") {
				t.Errorf("%v\n%s", err, out)
			}
			if diff := cmp.Diff(before, digests(t, j.store)); diff != "" {
				t.Errorf("the cache has changed (-before +after):\n%s", diff)
			}
		})
	}
}

// TestExecCopies checks that init keeps the unpacked package that exec copies, that
// the copy is like the client's own, and that all later commands accept it.
func TestExecCopies(t *testing.T) {
	t.Parallel()
	for client, program := range map[string]string{"tofu": programs.tofu, "terraform": programs.terraform} {
		t.Run(client, func(t *testing.T) {
			t.Parallel()
			m := newTimeMirror(t, map[string]string{"tofu": provider.DefaultHost.String(), "terraform": terraformHost}[client])
			store, plugins := t.TempDir(), t.TempDir()
			unpacked := m.job(t, store)
			cmd := unpacked.exec(t, program, "init", "-input=false", "-no-color")
			cmd.Env = append(cmd.Env, "TF_PLUGIN_CACHE_DIR="+plugins)
			if out := output(t, cmd); strings.Contains(out, "previously-installed") {
				t.Error(out)
			}
			for range 2 { // The first directory fills the cache with the unpacked package.
				j := m.job(t, store)
				write(t, filepath.Join(j.dir, ".terraform.lock.hcl"), string(readLock(t, unpacked.dir)))
				for _, args := range [][]string{{"init"}, {"init", "-upgrade"}, {"init", "-lockfile=readonly"}, {"apply", "-auto-approve"}} {
					out := output(t, j.exec(t, append(append([]string{program}, args...), "-input=false", "-no-color")...))
					if args[0] == "init" && !strings.Contains(out, "Using previously-installed hashicorp/time v"+fixture.TimeVersion) {
						t.Errorf("%v printed %s", args, out)
					}
				}
				if before, after := readLock(t, unpacked.dir), readLock(t, j.dir); !bytes.Equal(before, after) {
					t.Errorf("the lock file changed from\n%s\nto\n%s", before, after)
				}
				if diff := cmp.Diff(modes(t, plugins), modes(t, filepath.Join(j.dir, ".terraform", "providers"))); diff != "" {
					t.Errorf("differences from the client's own files (-client +exec):\n%s", diff)
				}
			}
		})
	}
}

// modes maps the paths of all files and directories below a directory to their modes. It
// skips the lock files in OpenTofu's plugin cache.
func modes(t *testing.T, dir string) map[string]fs.FileMode {
	t.Helper()
	all := map[string]fs.FileMode{}
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || path == dir || filepath.Ext(path) == ".lock" {
			return err
		}
		info, err := entry.Info()
		if err == nil {
			all[strings.TrimPrefix(path, dir)] = info.Mode()
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// TestExecPluginCache checks that directories can share unpacked providers through the
// user's plugin cache, and that tofu and terraform then still start with exec.
func TestExecPluginCache(t *testing.T) {
	t.Parallel()
	for client, program := range map[string]string{"tofu": programs.tofu, "terraform": programs.terraform} {
		t.Run(client, func(t *testing.T) {
			t.Parallel()
			m := newTimeMirror(t, map[string]string{"tofu": provider.DefaultHost.String(), "terraform": terraformHost}[client])
			store, plugins := t.TempDir(), t.TempDir()
			for range 2 {
				j := m.job(t, store)
				for _, args := range [][]string{{"init"}, {"apply", "-auto-approve"}} {
					cmd := j.exec(t, append(append([]string{program}, args...), "-input=false", "-no-color")...)
					cmd.Env = append(cmd.Env, "TF_PLUGIN_CACHE_DIR="+plugins)
					output(t, cmd)
				}
				if used := diskUsage(t, filepath.Join(j.dir, ".terraform")); used > 1<<20 {
					t.Errorf("the directory stores %d bytes", used)
				}
			}
		})
	}
}

// rebuild copies a zip and appends some bytes to each file in it.
func rebuild(t *testing.T, from, to string) {
	t.Helper()
	archive, err := zip.OpenReader(from)
	if err != nil {
		t.Fatal(err)
	}
	defer archive.Close()
	var out bytes.Buffer
	rebuilt := zip.NewWriter(&out)
	for _, f := range archive.File {
		content, err := f.Open()
		if err != nil {
			t.Fatal(err)
		}
		header := &zip.FileHeader{Name: f.Name, Method: zip.Deflate}
		header.SetMode(f.Mode())
		w, err := rebuilt.CreateHeader(header)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.Copy(w, io.MultiReader(content, strings.NewReader("another build"))); err != nil {
			t.Fatal(err)
		}
	}
	if err := rebuilt.Close(); err != nil {
		t.Fatal(err)
	}
	write(t, to, out.String())
}

// digests maps the paths of all files below a directory to the digests of their
// contents. It does not follow links.
func digests(t *testing.T, dir string) map[string]digest.Digest {
	t.Helper()
	all := map[string]digest.Digest{}
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err == nil && entry.Type().IsRegular() {
			all[path] = digest.FromString(readFile(t, path))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}
