package exec_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/tofu-oci/tofu-oci/internal/opentofu/cliconfig"
	"github.com/tofu-oci/tofu-oci/pkg/exec"
	"github.com/tofu-oci/tofu-oci/pkg/lock"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// TestUnlocked checks a provider that the configuration requires but the lock file
// doesn't contain. The provider is left to the user's oci_mirror if the command can use
// the oci_mirror and no other checks are required. Otherwise, the command doesn't start
// if it would need the provider.
func TestUnlocked(t *testing.T) {
	t.Parallel()
	const mirror = "oci_mirror {\n repository_template = \"example.com/${namespace}/${type}\"\n include = [\"registry.opentofu.org/acme/*\"]\n}\n"
	approves := func(is bool) func(*exec.Options) {
		return func(o *exec.Options) {
			o.Approves = func(_ context.Context, a provider.Address) (bool, error) { return is && a.Type == "two", nil }
		}
	}
	onlyLocked := func(o *exec.Options) { o.OnlyLocked = true }
	const kept, left, refused = "kept", "left", "refused"
	for name, test := range map[string]struct {
		program, version, methods string
		args                      []string
		change                    func(*exec.Options)
		want                      string
	}{
		"OpenTofu 1.10":              {"tofu", "OpenTofu v1.10.0", mirror, []string{"init"}, nil, kept},
		"OpenTofu 1.12":              {"tofu", "x\nOpenTofu v1.12.6-dev\non linux_amd64", mirror, []string{"-chdir=.", "init", "-upgrade"}, nil, kept},
		"OpenTofu 1.9":               {"tofu", "OpenTofu v1.9.4", mirror, []string{"init"}, nil, refused},
		"another program":            {"tofu", "Terraform v1.11.4", mirror, []string{"init"}, nil, refused},
		"Terraform":                  {"terraform", "", mirror, []string{"init"}, nil, refused},
		"a script":                   {"make", "", mirror, nil, nil, refused},
		"plan":                       {"terraform", "", mirror, []string{"plan"}, nil, ""},
		"no subcommand":              {"tofu", "", mirror, []string{"-version"}, nil, ""},
		"demanded":                   {"tofu", "OpenTofu v1.10.0", mirror, []string{"init"}, onlyLocked, refused},
		"required, no mirror":        {"tofu", "OpenTofu v1.10.0", "direct {}\n", []string{"init"}, onlyLocked, refused},
		"approved":                   {"tofu", "OpenTofu v1.10.0", mirror, []string{"init"}, approves(true), refused},
		"not approved":               {"tofu", "OpenTofu v1.10.0", mirror, []string{"init"}, approves(false), kept},
		"no mirror":                  {"terraform", "", "direct {}\n", []string{"init"}, nil, left},
		"developed":                  {"terraform", "", "dev_overrides {\n \"acme/two\" = \"built\"\n}\n" + mirror, []string{"init"}, onlyLocked, ""},
		"mirror of another provider": {"terraform", "", "oci_mirror {\n repository_template = \"example.com/${type}\"\n include = [\"example.com/acme/*\"]\n}\n", []string{"init"}, nil, left},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.lock(t, here, map[string][]string{"one 1.0.0": {w.hashes["one 1.0.0"].zh}})
			w.require(t, "one", "two")
			config := filepath.Join(w.dir, "config.tfrc")
			must(t, os.WriteFile(config, []byte("provider_installation {\n"+test.methods+"}\n"), 0o600))
			var left []string
			r := w.run(t, test.program, "show", func(o *exec.Options) {
				o.Config, o.Command, o.Environ = config, append(o.Command, test.args...), append(o.Environ, envVersion+"="+test.version)
				o.Left = func(a provider.Address, _ string) { left = append(left, a.Type) }
				if test.change != nil {
					test.change(o)
				}
			})
			if test.want == refused {
				if !errors.Is(r.err, lock.ErrNotLocked) || r.stdout != "" {
					t.Errorf("error %v, the child printed %q", r.err, r.stdout)
				}
				return
			}
			c, _ := r.configured(t)
			keeps := slices.ContainsFunc(c.Installation.Methods, func(m cliconfig.Method) bool {
				return m.Kind == cliconfig.OCIMirror && slices.ContainsFunc(m.Exclude, func(p provider.Pattern) bool { return p.String() == "registry.opentofu.org/acme/one" })
			})
			if keeps != (test.want == kept) || slices.Contains(left, "two") != (test.want != "") {
				t.Errorf("kept %v, left %v; the child printed %s", keeps, left, r.stdout)
			}
		})
	}
}

// TestUnlockedInState checks that the oci_mirror is kept even if the configuration
// requires no other provider, because the state could require a provider.
func TestUnlockedInState(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.lock(t, here, map[string][]string{"one 1.0.0": {w.hashes["one 1.0.0"].zh}})
	config := filepath.Join(w.dir, "config.tfrc")
	must(t, os.WriteFile(config, []byte("provider_installation {\n oci_mirror {\n repository_template = \"example.com/${namespace}/${type}\"\n include = [\"registry.opentofu.org/*/*\"]\n}\n}\n"), 0o600))
	c, _ := w.run(t, "tofu", "show", func(o *exec.Options) {
		o.Config, o.Command, o.Environ = config, append(o.Command, "init"), append(o.Environ, envVersion+"=OpenTofu v1.10.0")
	}).configured(t)
	if last := c.Installation.Methods[1]; last.Kind != cliconfig.OCIMirror {
		t.Errorf("the child has %v", c.Installation.Methods)
	}
}

// TestUnlockedUnread checks that errors in the configuration are left to the command,
// unless all requirements must be known.
func TestUnlockedUnread(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.lock(t, here, map[string][]string{"one 1.0.0": {w.hashes["one 1.0.0"].zh}})
	must(t, os.WriteFile(filepath.Join(w.dir, "main.tf"), []byte("terraform {"), 0o600))
	w.run(t, "make", "show").configured(t)
	if r := w.run(t, "make", "show", func(o *exec.Options) { o.OnlyLocked = true }); r.err == nil || r.stdout != "" {
		t.Errorf("error %v, the child printed %q", r.err, r.stdout)
	}
}
