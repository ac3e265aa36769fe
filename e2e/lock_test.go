package e2e_test

import (
	"bytes"
	"fmt"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/opencontainers/go-digest"

	"github.com/tofu-oci/tofu-oci/e2e/fixture"
	"github.com/tofu-oci/tofu-oci/internal/testing/origintest"
	"github.com/tofu-oci/tofu-oci/pkg/lockfile"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/sums"
)

// Address and version of a provider with tiny packages.
const (
	plainName    = "acme/plain"
	plainVersion = "1.2.3"
)

const lockedConfiguration = `terraform {
  required_providers {
    time  = { source = "hashicorp/time", version = "~> 0.14" }
    plain = { source = "` + plainName + `", version = ">= 1.0, < 2" }
  }
}
module "more" {
  source = "./more"
}
resource "time_static" "now" {}
output "unix" { value = time_static.now.unix }
`

// lockMirror is a registry that contains the real provider and a tiny provider.
type lockMirror struct {
	// repository is the repository template.
	repository string
	release    origintest.Release
	plain      map[provider.Platform]lockPackage
}

func newLockMirror(t *testing.T) lockMirror {
	t.Helper()
	signer, err := fixture.NewSigner()
	if err != nil {
		t.Fatal(err)
	}
	m := lockMirror{plain: tinyPackages(t, plainName, plainVersion)}
	m.release = lockRelease(t, signer, plainName, plainVersion, m.plain)
	_, config := serveOrigin(t, origintest.Options{}, world.release, m.release)
	m.repository = startRegistry(t) + "/mirror/{namespace}/{type}"
	run(t, programs.tofuOCI, "mirror", "hashicorp/time", plainName, "--to", m.repository, "--config", config, "--ca-file", world.caFile)
	return m
}

// configure writes a configuration with two modules, which require both providers.
func (m lockMirror) configure(t *testing.T) (dir string) {
	t.Helper()
	dir = t.TempDir()
	write(t, filepath.Join(dir, "main.tf"), lockedConfiguration)
	write(t, filepath.Join(dir, "more", "more.tf"),
		"terraform {\n  required_providers {\n    p = { source = \""+plainName+"\", version = \"!= 1.0.1\" }\n  }\n}\n")
	return dir
}

// lock runs the lock command and returns the lock file.
func (m lockMirror) lock(t *testing.T, dir string) []byte {
	t.Helper()
	run(t, programs.tofuOCI, "lock", "--from", m.repository, "--root", dir, "--ca-file", world.caFile)
	return readLock(t, dir)
}

func readLock(t *testing.T, dir string) []byte {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, ".terraform.lock.hcl"))
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// pull pulls the providers in a lock file to a filesystem mirror.
func (m lockMirror) pull(t *testing.T, locked []byte, layout string, platforms ...provider.Platform) (dir string) {
	t.Helper()
	dir = t.TempDir()
	file := filepath.Join(t.TempDir(), ".terraform.lock.hcl")
	write(t, file, string(locked))
	args := []string{"pull", "--lock-file", file, "--from", m.repository, "--dir", dir, "--layout", layout, "--ca-file", world.caFile}
	for _, p := range platforms {
		args = append(args, "--platform", p.String())
	}
	run(t, programs.tofuOCI, args...)
	return dir
}

// TestTofuInstallsLockedProviders writes a lock file from registry metadata. It checks
// that the lock file is complete for every installation method, and that init does not
// change the file.
func TestTofuInstallsLockedProviders(t *testing.T) {
	t.Parallel()
	m := newLockMirror(t)
	locked := m.lock(t, m.configure(t))
	oci := run(t, programs.tofuOCI, "tofurc", m.repository)
	for name, installation := range map[string]string{
		"oci":      oci,
		"packed":   filesystemMirror(m.pull(t, locked, "packed")),
		"unpacked": filesystemMirror(m.pull(t, locked, "unpacked")),
		"network":  fmt.Sprintf("provider_installation {\n  network_mirror {\n    url = \"%s/\"\n  }\n}\n", serve(t, http.FileServer(http.Dir(m.pull(t, locked, "network"))))),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := m.configure(t)
			write(t, filepath.Join(dir, ".terraform.lock.hcl"), string(locked))
			cli := filepath.Join(t.TempDir(), "tofurc")
			write(t, cli, installation)
			for _, args := range [][]string{{"-lockfile=readonly"}, {}, {"-upgrade"}} {
				tofu(t, dir, cli, append([]string{"init", "-input=false", "-no-color"}, args...)...)
				if now := readLock(t, dir); !bytes.Equal(now, locked) {
					t.Fatalf("init %v changed the file from\n%s\nto\n%s", args, locked, now)
				}
			}
		})
	}
}

// TestTofuAcceptsPrunedLockFile checks that init does not change the lock file after a
// provider was removed from the configuration. In this configuration, the source of one
// module depends on a local value. Only that module requires the tiny provider.
func TestTofuAcceptsPrunedLockFile(t *testing.T) {
	t.Parallel()
	m := newLockMirror(t)
	dir := m.configure(t)
	m.lock(t, dir)
	write(t, filepath.Join(dir, "main.tf"), "locals {\n  what = \"re\"\n}\nmodule \"more\" {\n  source = \"./mo${local.what}\"\n}\n")
	// exec ignores a provider that is locked but neither required nor available.
	stale := strings.ReplaceAll(string(readLock(t, dir)), "hashicorp/time", "hashicorp/gone")
	write(t, filepath.Join(dir, ".terraform.lock.hcl"), stale)
	run(t, programs.tofuOCI, "exec", "--cache", t.TempDir(), "--from", m.repository, "--ca-file", world.caFile, "--root", dir, "--", programs.tofu, "init", "-input=false", "-no-color")
	write(t, filepath.Join(dir, ".terraform.lock.hcl"), stale)
	locked := m.lock(t, dir)
	if !bytes.Contains(locked, []byte(plainName)) || bytes.Contains(locked, []byte("hashicorp/gone")) {
		t.Fatalf("unexpected lock file:\n%s", locked)
	}
	cli := filepath.Join(t.TempDir(), "tofurc")
	write(t, cli, run(t, programs.tofuOCI, "tofurc", m.repository))
	tofu(t, dir, cli, "init", "-input=false", "-no-color", "-lockfile=readonly")
	if now := readLock(t, dir); !bytes.Equal(now, locked) {
		t.Errorf("init changed the file from\n%s\nto\n%s", locked, now)
	}
}

// TestTofuTrustsAllHashes checks that init locks all platforms from a network mirror
// with trust_all_hashes. serve provides only h1 hashes that it computed itself, because
// a repository's h1 hashes are not signed. pull writes h1 hashes for all platforms,
// because it computes them.
func TestTofuTrustsAllHashes(t *testing.T) {
	t.Parallel()
	m := newLockMirror(t)
	served := startServe(t, "--from", m.repository).URL
	complete := t.TempDir()
	write(t, filepath.Join(complete, "main.tf"), "terraform {\n  required_providers {\n    plain = { source = \""+plainName+"\" }\n  }\n}\n")
	locked := m.lock(t, complete)
	platforms := slices.Collect(maps.Keys(m.plain))
	static := serve(t, http.FileServer(http.Dir(m.pull(t, locked, "network", platforms...))))
	for name, test := range map[string]struct {
		url string
		h1  int
	}{"serve": {served + "/mirror/", 1}, "layout": {static + "/", len(platforms)}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			write(t, filepath.Join(dir, "main.tf"), "terraform {\n  required_providers {\n    plain = { source = \""+plainName+"\" }\n  }\n}\n")
			cli := filepath.Join(t.TempDir(), "tofurc")
			write(t, cli, fmt.Sprintf("provider_installation {\n  network_mirror {\n    url              = %q\n    trust_all_hashes = true\n  }\n}\n", test.url))
			tofu(t, dir, cli, "init", "-input=false", "-no-color")
			h1 := 0
			hashes := parseLock(t, readLock(t, dir)).Selections()[0].Hashes
			for _, h := range hashes {
				if h.IsH1() {
					h1++
				}
			}
			for platform, p := range m.plain {
				if !slices.Contains(hashes, p.zh) {
					t.Errorf("the zh of %s is not locked: %s", platform, hashes)
				}
			}
			if h1 != test.h1 {
				t.Errorf("%d h1 are locked, want %d: %s", h1, test.h1, hashes)
			}
			// The locked hashes are sufficient for installations from OCI.
			write(t, cli, run(t, programs.tofuOCI, "tofurc", m.repository))
			if err := os.RemoveAll(filepath.Join(dir, ".terraform")); err != nil {
				t.Fatal(err)
			}
			tofu(t, dir, cli, "init", "-input=false", "-no-color", "-lockfile=readonly")
		})
	}
}

func filesystemMirror(dir string) string {
	return fmt.Sprintf("provider_installation {\n  filesystem_mirror {\n    path = %q\n  }\n}\n", filepath.ToSlash(dir))
}

// TestLockHashesOfAllPlatforms compares the lock file's hashes with the zips of all
// platforms in the registry.
func TestLockHashesOfAllPlatforms(t *testing.T) {
	t.Parallel()
	m := newLockMirror(t)
	locked := m.lock(t, m.configure(t))
	selections := parseLock(t, locked).Selections()
	if len(selections) != 2 {
		t.Fatalf("got %d locked providers", len(selections))
	}
	for _, p := range world.platforms {
		mirror := m.pull(t, locked, "packed", p)
		for _, s := range selections {
			zip := filepath.Join(mirror, filepath.FromSlash(s.Address.String()), fmt.Sprintf("terraform-provider-%s_%s_%s.zip", s.Address.Type, s.Version, p))
			for _, hash := range hashesOf(t, zip) {
				if !slices.Contains(s.Hashes, hash) {
					t.Errorf("the file has no %s of %s", hash, zip)
				}
			}
		}
	}
	for _, s := range selections {
		if want := 2 * len(world.platforms); len(s.Hashes) != want {
			t.Errorf("%s has %d hashes, want %d: %q", s.Address, len(s.Hashes), want, s.Hashes)
		}
	}
	if got := lockfile.FormatConstraints(selections[0].Constraints); got != ">= 1.0.0, != 1.0.1, < 2.0.0" {
		t.Errorf("unexpected constraints %q", got)
	}
}

// hashesOf returns the zh and h1 hashes of a zip.
func hashesOf(t *testing.T, path string) []lockfile.Hash {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	h1, err := origintest.H1(bytes.NewReader(content), int64(len(content)))
	if err != nil {
		t.Fatal(err)
	}
	return []lockfile.Hash{lockfile.Hash(sums.ZH(digest.FromBytes(content))), lockfile.Hash(h1)}
}

// TestLockMatchesProvidersLock checks that tofu providers lock writes a byte-for-byte
// identical file for all platforms.
func TestLockMatchesProvidersLock(t *testing.T) {
	t.Parallel()
	m := newLockMirror(t)
	locked := m.lock(t, m.configure(t))
	_, config := serveOrigin(t, origintest.Options{}, world.release, m.release)
	dir := m.configure(t)
	tofu(t, dir, config, "get", "-no-color")
	args := []string{"providers", "lock", "-no-color"}
	for _, p := range world.platforms {
		args = append(args, "-platform="+p.String())
	}
	tofu(t, dir, config, args...)
	if theirs := readLock(t, dir); !bytes.Equal(theirs, locked) {
		t.Errorf("tofu wrote\n%s\nand lock\n%s", theirs, locked)
	}
	if strings.Count(string(locked), "h1:") != 2*len(world.platforms) {
		t.Errorf("not all h1 hashes are locked:\n%s", locked)
	}
}

// TestLockCompletesLockFileOfInit checks that lock adds hashes to a lock file that init
// wrote after an installation from an unpacked mirror. Such a lock file contains only
// one h1 hash, so installing from OCI fails.
func TestLockCompletesLockFileOfInit(t *testing.T) {
	t.Parallel()
	m := newLockMirror(t)
	complete := m.lock(t, m.configure(t))
	dir := m.configure(t)
	mirror, oci := filepath.Join(t.TempDir(), "mirror.tofurc"), filepath.Join(t.TempDir(), "oci.tofurc")
	write(t, mirror, filesystemMirror(m.pull(t, complete, "unpacked")))
	write(t, oci, run(t, programs.tofuOCI, "tofurc", m.repository))
	tofu(t, dir, mirror, "init", "-input=false", "-no-color")
	if recorded := string(readLock(t, dir)); strings.Contains(recorded, "zh:") || strings.Count(recorded, "h1:") != 2 {
		t.Fatalf("want one h1 hash for each, got:\n%s", recorded)
	}
	if err := os.RemoveAll(filepath.Join(dir, ".terraform")); err != nil {
		t.Fatal(err)
	}
	fromOCI := command(t, programs.tofu, "init", "-input=false", "-no-color")
	fromOCI.Dir, fromOCI.Env = dir, append(fromOCI.Env, "TF_CLI_CONFIG_FILE="+oci)
	if out, err := fromOCI.CombinedOutput(); err == nil {
		t.Errorf("tofu init accepted a lock file without zh hashes: %s", out)
	}
	if locked := m.lock(t, dir); !bytes.Equal(locked, complete) {
		t.Errorf("the completed file is\n%s\nwant\n%s", locked, complete)
	}
	tofu(t, dir, oci, "init", "-input=false", "-no-color", "-lockfile=readonly")
}

// TestTerraformInstallsLockedProviders checks that Terraform installs locked providers.
// Terraform's default host for providers differs from OpenTofu's.
func TestTerraformInstallsLockedProviders(t *testing.T) {
	t.Parallel()
	m := newTimeMirror(t, terraformHost)
	dir := t.TempDir()
	write(t, filepath.Join(dir, "main.tf"), mainTF)
	run(t, programs.tofuOCI, append([]string{"lock", "--terraform", "--root", dir}, m.flags...)...)
	locked := readLock(t, dir)
	mirror, cli := t.TempDir(), filepath.Join(t.TempDir(), "terraformrc")
	run(t, programs.tofuOCI, append([]string{"pull", terraformHost + "/hashicorp/time", "--dir", mirror, "--layout", "packed"}, m.flags...)...)
	write(t, cli, filesystemMirror(mirror))
	for _, args := range [][]string{{"-lockfile=readonly"}, {}} {
		cmd := command(t, programs.terraform, append([]string{"init", "-input=false", "-no-color"}, args...)...)
		cmd.Dir, cmd.Env = dir, append(cmd.Env, "TF_CLI_CONFIG_FILE="+cli)
		output(t, cmd)
		if now := readLock(t, dir); !bytes.Equal(now, locked) {
			t.Errorf("init %v changed the file from\n%s\nto\n%s", args, locked, now)
		}
	}
	// A new lock file also starts with Terraform's header.
	if err := os.Remove(filepath.Join(dir, ".terraform.lock.hcl")); err != nil {
		t.Fatal(err)
	}
	cmd := command(t, programs.terraform, "init", "-input=false", "-no-color")
	cmd.Dir, cmd.Env = dir, append(cmd.Env, "TF_CLI_CONFIG_FILE="+cli)
	output(t, cmd)
	ours, _, _ := bytes.Cut(locked, []byte("provider "))
	theirs, _, _ := bytes.Cut(readLock(t, dir), []byte("provider "))
	if !bytes.Equal(ours, theirs) {
		t.Errorf("the file starts with\n%s\nTerraform's with\n%s", ours, theirs)
	}
}
