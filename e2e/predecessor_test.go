package e2e_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tofu-oci/tofu-oci/e2e/fixture"
	"github.com/tofu-oci/tofu-oci/internal/testing/origintest"
	"github.com/tofu-oci/tofu-oci/pkg/lockfile"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// Terraform's providers, and OpenTofu's builds of the same versions.
const (
	tofuAlpha, terraformAlpha = "registry.opentofu.org/hashicorp/alpha", terraformHost + "/hashicorp/alpha"
	tofuBeta, terraformBeta   = "registry.opentofu.org/hashicorp/beta", terraformHost + "/hashicorp/beta"
	tofuAcme, terraformAcme   = "registry.opentofu.org/acme/alpha", terraformHost + "/acme/alpha"
)

// predecessorCase is a lock file that Terraform could have written.
type predecessorCase struct {
	// locked contains "ADDRESS VERSION".
	locked   []string
	required []lockRequirement
	upgrade  bool
	// want contains the selections after tofu init, in the form of locked. If it is nil,
	// tofu init fails.
	want []string
	// unlocked reports whether a required provider isn't locked.
	unlocked bool
}

var predecessorCases = map[string]predecessorCase{
	"only the predecessor":       {locked: []string{terraformAlpha + " 1.0.0"}, required: []lockRequirement{requires("hashicorp/alpha", "", "~> 1.0")}, want: []string{tofuAlpha + " 1.0.0"}},
	"no constraint":              {locked: []string{terraformAlpha + " 1.0.0"}, required: []lockRequirement{requires("hashicorp/alpha", "")}, want: []string{tofuAlpha + " 1.0.0"}},
	"a pre-release":              {locked: []string{terraformAlpha + " 1.3.0-beta1"}, required: []lockRequirement{requires("hashicorp/alpha", "", "1.3.0-beta1")}, want: []string{tofuAlpha + " 1.3.0-beta1"}},
	"the host of OpenTofu":       {locked: []string{terraformAlpha + " 1.0.0"}, required: []lockRequirement{requires(tofuAlpha, "", "~> 1.0")}, want: []string{tofuAlpha + " 1.0.0"}},
	"several":                    {locked: []string{terraformAlpha + " 1.0.0", terraformBeta + " 1.2.3"}, required: []lockRequirement{requires("hashicorp/alpha", ""), requires("hashicorp/beta", "")}, want: []string{tofuAlpha + " 1.0.0", tofuBeta + " 1.2.3"}},
	"an upgrade":                 {locked: []string{terraformAlpha + " 1.0.0"}, required: []lockRequirement{requires("hashicorp/alpha", "", "~> 1.0")}, upgrade: true, want: []string{tofuAlpha + " 1.2.3"}},
	"an unmet constraint":        {locked: []string{terraformAlpha + " 1.0.0"}, required: []lockRequirement{requires("hashicorp/alpha", "", ">= 1.2")}},
	"an upgrade of an unmet one": {locked: []string{terraformAlpha + " 1.0.0"}, required: []lockRequirement{requires("hashicorp/alpha", "", ">= 1.2")}, upgrade: true, want: []string{tofuAlpha + " 1.2.3"}},
	"a missing version":          {locked: []string{terraformAlpha + " 9.9.9"}, required: []lockRequirement{requires("hashicorp/alpha", "")}},
	"both are locked":            {locked: []string{tofuAlpha + " 1.2.3", terraformAlpha + " 1.0.0"}, required: []lockRequirement{requires("hashicorp/alpha", "")}, want: []string{tofuAlpha + " 1.2.3"}},
	"the host of Terraform":      {locked: []string{terraformAlpha + " 1.0.0"}, required: []lockRequirement{requires(terraformAlpha, "")}, want: []string{terraformAlpha + " 1.0.0"}},
	"both hosts":                 {locked: []string{terraformAlpha + " 1.0.0"}, required: []lockRequirement{requires(terraformAlpha, ""), requires("hashicorp/alpha", "")}, want: []string{tofuAlpha + " 1.0.0", terraformAlpha + " 1.0.0"}},
	"both hosts, both locked":    {locked: []string{tofuAlpha + " 1.2.3", terraformAlpha + " 1.0.0"}, required: []lockRequirement{requires(terraformAlpha, ""), requires("hashicorp/alpha", "")}, want: []string{tofuAlpha + " 1.2.3", terraformAlpha + " 1.0.0"}},
	"another namespace":          {locked: []string{terraformAcme + " 1.0.0"}, required: []lockRequirement{requires("acme/alpha", "")}, want: []string{tofuAcme + " 1.2.3"}, unlocked: true},
	"an unused provider":         {locked: []string{terraformAlpha + " 1.0.0"}, required: []lockRequirement{requires("acme/alpha", "")}, want: []string{tofuAcme + " 1.2.3"}, unlocked: true},
}

// predecessorWorld is a registry that contains builds of OpenTofu and Terraform.
type predecessorWorld struct {
	// repository is the repository template, and tofurc is OpenTofu's CLI configuration.
	repository, tofurc string
	hashes             map[string]lockfile.Hash // by "NAMESPACE/TYPE VERSION"
}

func newPredecessorWorld(t *testing.T) predecessorWorld {
	t.Helper()
	signer, err := fixture.NewSigner()
	if err != nil {
		t.Fatal(err)
	}
	w := predecessorWorld{repository: startRegistry(t) + "/mirror/{hostname}/{namespace}/{type}", hashes: map[string]lockfile.Hash{}}
	var releases []origintest.Release
	for _, name := range []string{"hashicorp/alpha", "hashicorp/beta", "acme/alpha"} {
		for _, version := range []string{"1.0.0", "1.2.3", "1.3.0-beta1"} {
			packages := tinyPackages(t, name, version)
			releases = append(releases, lockRelease(t, signer, name, version, packages))
			w.hashes[name+" "+version] = packages[provider.CurrentPlatform()].zh
		}
	}
	_, config := serveOrigin(t, origintest.Options{}, releases...)
	text, err := os.ReadFile(config)
	if err != nil {
		t.Fatal(err)
	}
	both := filepath.Join(t.TempDir(), "both.tofurc")
	write(t, both, string(text)+strings.ReplaceAll(string(text), "registry.opentofu.org", terraformHost))
	for _, version := range []string{"", "@1.3.0-beta1"} {
		args := []string{"mirror", "--to", w.repository, "--config", both, "--ca-file", world.caFile}
		if version == "" {
			args = append(args, "--all")
		}
		for _, a := range []string{tofuAlpha, tofuBeta, tofuAcme, terraformAlpha, terraformBeta, terraformAcme} {
			args = append(args, a+version)
		}
		run(t, programs.tofuOCI, args...)
	}
	w.tofurc = filepath.Join(t.TempDir(), "tofurc")
	write(t, w.tofurc, run(t, programs.tofuOCI, "tofurc", w.repository, "registry.opentofu.org/*/*", terraformHost+"/*/*"))
	return w
}

// directory writes the lock file and the configuration of a test case. The locked hashes
// of Terraform's providers are wrong unless the configuration requires them.
func (w predecessorWorld) directory(t *testing.T, c predecessorCase) (dir string) {
	t.Helper()
	dir = t.TempDir()
	writeRequirements(t, dir, c.required)
	text := ""
	for _, entry := range c.locked {
		address, version, _ := strings.Cut(entry, " ")
		host, name, _ := strings.Cut(address, "/")
		hash := w.hashes[name+" "+version]
		if required := slices.ContainsFunc(c.required, func(r lockRequirement) bool { return r.source == address }); host == terraformHost && !required {
			hash = lockfile.Hash("zh:" + strings.Repeat("0", 64))
		}
		text += fmt.Sprintf("provider %q {\n  version = %q\n  hashes = [\n    %q,\n  ]\n}\n\n", address, version, hash)
	}
	write(t, filepath.Join(dir, ".terraform.lock.hcl"), text)
	return dir
}

// selections returns the content of a directory's lock file after a command, or nil if
// the command fails.
func (w predecessorWorld) selections(t *testing.T, dir, program string, args ...string) (all []string) {
	t.Helper()
	cmd := command(t, program, args...)
	cmd.Dir = dir
	cmd.Env = append(cmd.Env, "TF_CLI_CONFIG_FILE="+w.tofurc)
	if out, err := cmd.CombinedOutput(); err != nil {
		if _, exited := errors.AsType[*exec.ExitError](err); !exited {
			t.Fatal(err)
		}
		t.Logf("%s: %v\n%s", strings.Join(cmd.Args, " "), err, out)
		return nil
	}
	for _, s := range parseLock(t, readLock(t, dir)).Selections() {
		all = append(all, s.Address.String()+" "+s.Version.String())
	}
	return all
}

// TestPredecessorsMatchTofu compares tofu-oci with the real tofu init if Terraform wrote
// the lock file.
func TestPredecessorsMatchTofu(t *testing.T) {
	t.Parallel()
	w := newPredecessorWorld(t)
	for name, c := range predecessorCases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			initialize, lock := []string{"init", "-input=false", "-no-color"}, []string{"lock", "--ca-file", world.caFile}
			if c.upgrade {
				initialize, lock = append(initialize, "-upgrade"), append(lock, "--upgrade")
			}
			commands := map[string][]string{
				"tofu init":     append([]string{programs.tofu}, initialize...),
				"tofu-oci lock": append([]string{programs.tofuOCI}, lock...),
			}
			if !c.upgrade && !c.unlocked {
				commands["tofu-oci exec"] = append([]string{programs.tofuOCI, "exec", "--cache", t.TempDir(), "--from", w.repository, "--ca-file", world.caFile, "--", programs.tofu}, initialize...)
			}
			for name, args := range commands {
				if diff := cmp.Diff(c.want, w.selections(t, w.directory(t, c), args[0], args[1:]...)); diff != "" {
					t.Errorf("%s selects other versions (-want +got):\n%s", name, diff)
				}
			}
			if c.want == nil || c.upgrade || c.unlocked {
				return
			}
			// The commands that read lock files use the same versions.
			file := filepath.Join(w.directory(t, c), ".terraform.lock.hcl")
			out := run(t, programs.tofuOCI, "pull", "--lock-file", file, "--from", w.repository, "--layout", "packed", "--dir", t.TempDir(), "--output", "json", "--ca-file", world.caFile)
			var pulled struct {
				Items []struct{ Provider, Version string }
			}
			if err := json.Unmarshal([]byte(out), &pulled); err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, item := range pulled.Items {
				got = append(got, item.Provider+" "+item.Version)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("pull selects other versions (-want +got):\n%s", diff)
			}
		})
	}
}
