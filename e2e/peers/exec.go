//go:build unix

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// Names of the methods for installing four large locked providers.
const (
	execDoer       = "tofu-oci exec"
	ociDoer        = "tofu init from oci_mirror"
	cachedDoer     = "tofu init with a warm plugin cache"
	filesystemDoer = "terraform init from an unpacked filesystem_mirror"
)

// execTofu returns the work of repeatedly installing large providers with OpenTofu.
func (s *site) execTofu() work {
	return work{
		name:  "exec tofu",
		ready: s.readyToExec,
		doers: []doer{s.exec(s.tofu), s.ociTofu(), s.cachedTofu()},
		rows: []row{
			{fmt.Sprintf("`exec -- tofu init` of %d locked providers, all cached", bigCount), execDoer, []string{ociDoer}, 0.15},
			{"the same", execDoer, []string{cachedDoer}, 1.1},
		},
		another: true,
	}
}

// execTerraform returns the work of repeatedly installing large providers with
// Terraform.
func (s *site) execTerraform() work {
	return work{
		name:  "exec terraform",
		ready: s.readyToExec,
		doers: []doer{s.exec(s.terraform), s.mirrorTerraform()},
		rows: []row{
			{fmt.Sprintf("`exec -- terraform init` of %d locked providers, all cached", bigCount), execDoer, []string{filesystemDoer}, 1.05},
		},
		another: true,
	}
}

func bigTypes() (types []string) {
	for i := range bigCount {
		types = append(types, bigType(i))
	}
	return types
}

// lockedDir returns the directory that contains the initial lock file. The store and
// the plugin cache are in separate directories. Some measurements use the
// plugin cache as an unpacked filesystem mirror.
func (s *site) lockedDir() string { return filepath.Join(s.dir, "locked") }
func (s *site) store() string     { return filepath.Join(s.dir, "store") }
func (s *site) plugins() string   { return filepath.Join(s.dir, "plugins") }

// readyToExec prepares the large packages in the registry, a lock file, a filled store,
// and a filled plugin cache.
func (s *site) readyToExec(ctx context.Context) error {
	if err := s.bigPackages(ctx, bigCount); err != nil {
		return err
	}
	if _, err := os.Stat(s.lockedDir()); err == nil {
		return nil
	}
	if err := errors.Join(os.MkdirAll(s.lockedDir(), 0o700), os.MkdirAll(s.plugins(), 0o700), require(s.lockedDir(), bigTypes()...)); err != nil {
		return err
	}
	if _, err := s.ours(s.lockedDir(), "lock", "--from", s.host+"/{namespace}/{type}").run(ctx); err != nil {
		return err
	}
	for _, d := range []doer{s.exec(s.tofu), s.cachedTofu()} {
		if _, err := d.once(ctx, s); err != nil {
			return err
		}
	}
	return nil
}

// locked creates a checkout that contains the configuration and the lock file.
func (s *site) locked(dir string) error {
	text, err := os.ReadFile(filepath.Join(s.lockedDir(), ".terraform.lock.hcl"))
	if err != nil {
		return err
	}
	return errors.Join(require(dir, bigTypes()...), os.WriteFile(filepath.Join(dir, ".terraform.lock.hcl"), text, 0o600))
}

func (s *site) exec(client string) doer {
	return doer{execDoer, func(_ context.Context, dir string) (task, error) {
		c := s.ours(dir, "exec", "--from", s.host+"/{namespace}/{type}", "--cache", s.store(), "--", client, "init", "-input=false", "-no-color")
		return task{command: c, right: s.isInstalled(dir)}, s.locked(dir)
	}}
}

func (s *site) ociTofu() doer {
	return doer{ociDoer, func(_ context.Context, dir string) (task, error) {
		return s.initialize(s.tofu, dir, s.ociMirror())
	}}
}

func (s *site) cachedTofu() doer {
	return doer{cachedDoer, func(_ context.Context, dir string) (task, error) {
		t, err := s.initialize(s.tofu, dir, s.ociMirror())
		t.environ = append(t.environ, "TF_PLUGIN_CACHE_DIR="+s.plugins())
		return t, err
	}}
}

func (s *site) mirrorTerraform() doer {
	return doer{filesystemDoer, func(_ context.Context, dir string) (task, error) {
		return s.initialize(s.terraform, dir, fmt.Sprintf("filesystem_mirror {\n    path = %q\n  }", s.plugins()))
	}}
}

// ociMirror returns OpenTofu's installation method for OCI registries.
func (s *site) ociMirror() string {
	return fmt.Sprintf("oci_mirror {\n    repository_template = \"%s/${namespace}/${type}\"\n    include             = [\"%s/%s/*\"]\n  }", s.host, provider.DefaultHost, namespace)
}

// initialize returns a task in which a client installs the locked providers.
func (s *site) initialize(client, dir, method string) (task, error) {
	config := filepath.Join(dir, "clirc")
	return task{
		command: command{
			args: []string{client, "init", "-input=false", "-no-color"}, dir: dir,
			environ: s.environ("TF_CLI_CONFIG_FILE=" + config), stdout: filepath.Join(dir, "stdout"),
		},
		right: s.isInstalled(dir),
	}, errors.Join(s.locked(dir), os.WriteFile(config, []byte("provider_installation {\n  "+method+"\n}\n"), 0o600))
}

// isInstalled returns a check that the executables are installed and correct.
func (s *site) isInstalled(dir string) func(context.Context) error {
	return s.isUnpacked(filepath.Join(dir, ".terraform", "providers"), bigCount)
}
