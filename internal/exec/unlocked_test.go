package exec_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tofu-oci/tofu-oci/internal/exec"
	"github.com/tofu-oci/tofu-oci/internal/lock"
	"github.com/tofu-oci/tofu-oci/internal/opentofu/cliconfig"
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
			o.MustLock = func(_ context.Context, a provider.Address) (string, error) {
				if is && a.Type == "two" {
					return "it must be approved", nil
				}
				return "", nil
			}
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
		"only locked":                {"tofu", "OpenTofu v1.10.0", mirror, []string{"init"}, onlyLocked, refused},
		"only locked, no mirror":     {"tofu", "OpenTofu v1.10.0", "direct {}\n", []string{"init"}, onlyLocked, refused},
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

// TestUnlockedUnread checks that errors in the configuration are left to the command.
func TestUnlockedUnread(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.lock(t, here, map[string][]string{"one 1.0.0": {w.hashes["one 1.0.0"].zh}})
	must(t, os.WriteFile(filepath.Join(w.dir, "main.tf"), []byte("terraform {"), 0o600))
	for _, only := range []bool{false, true} {
		w.run(t, "make", "show", func(o *exec.Options) { o.OnlyLocked = only }).configured(t)
	}
}

// TestOnlyLocked checks that a command can install only locked providers, whatever the
// user's configuration contains.
func TestOnlyLocked(t *testing.T) {
	t.Parallel()
	const methods = `  dev_overrides {
    "acme/two" = "built"
  }
  oci_mirror {
    repository_template = "example.com/${namespace}/${type}"
    include = ["registry.opentofu.org/acme/*"]
  }
  filesystem_mirror {
    path = "local"
  }
  network_mirror {
    url = "https://example.com/"
  }
  direct {}
`
	for _, command := range []string{"tofu init", "tofu init -upgrade", "tofu -chdir=. plan", "terraform init", "terragrunt run-all init", "make"} {
		for name, config := range map[string]string{"no configuration": "", "all methods": "provider_installation {\n" + methods + "}\n"} {
			t.Run(command+" "+name, func(t *testing.T) {
				t.Parallel()
				w := newWorld(t)
				w.lock(t, here, map[string][]string{"one 1.0.0": {w.hashes["one 1.0.0"].zh}})
				w.require(t, "one")
				path := filepath.Join(w.dir, "config.tfrc")
				must(t, os.WriteFile(path, []byte(config), 0o600))
				args := strings.Fields(command)
				c, mirror := w.run(t, args[0], "show", func(o *exec.Options) {
					o.OnlyLocked, o.Config, o.Command = true, path, append(o.Command, args[1:]...)
					o.Environ = append(o.Environ, envVersion+"=OpenTofu v1.12.0")
				}).configured(t)
				var kinds []cliconfig.Kind
				for _, m := range c.Installation.Methods {
					kinds = append(kinds, m.Kind)
				}
				if diff := cmp.Diff([]cliconfig.Kind{cliconfig.FilesystemMirror}, kinds); diff != "" {
					t.Error(diff)
				}
				if m := c.Installation.Methods[0]; m.Path != mirror || len(m.Include)+len(m.Exclude) > 0 {
					t.Errorf("unexpected method %+v", m)
				}
				if got := len(c.Installation.DevOverrides); got != strings.Count(config, "dev_overrides") {
					t.Errorf("got %d dev_overrides", got)
				}
			})
		}
	}
}

// TestOnlyLockedRefuses checks the error for required providers that no lock file
// selects. The command doesn't start. The source doesn't have provider three.
func TestOnlyLockedRefuses(t *testing.T) {
	t.Parallel()
	for _, program := range []string{"tofu", "terraform", "terragrunt", "make"} {
		w := newWorld(t)
		w.lock(t, here, map[string][]string{"one 1.0.0": {w.hashes["one 1.0.0"].zh}})
		w.require(t, "one", "two", "three")
		r := w.run(t, program, "show", func(o *exec.Options) { o.OnlyLocked, o.Command = true, append(o.Command, "init") })
		e, is := errors.AsType[*exec.UnlockedError](r.err)
		if !is || len(e.Providers) != 2 || len(e.Missing) != 1 || e.Missing[0].Type != "three" || provider.KindOf(r.err) != provider.NotFound || r.stdout != "" {
			t.Errorf("%s: error %v, the child printed %q", program, r.err, r.stdout)
		}
	}
}

// TestOnlyLockedDefaultHost checks that a program that could run Terraform is started if
// Terraform's build of the required provider is locked.
func TestOnlyLockedDefaultHost(t *testing.T) {
	t.Parallel()
	for program, starts := range map[string]bool{"terragrunt": true, "make": true, "tofu": false} {
		w := newWorld(t)
		must(t, os.WriteFile(filepath.Join(w.dir, here), fmt.Appendf(nil, "provider \"registry.terraform.io/acme/one\" {\n  version = \"1.0.0\"\n  hashes  = [%q]\n}\n", w.hashes["one 1.0.0"].zh), 0o600))
		must(t, os.WriteFile(filepath.Join(w.dir, "main.tf"), []byte("terraform {\n required_providers {\n one = { source = \"acme/one\" }\n}\n}\n"), 0o600))
		r := w.run(t, program, "show", func(o *exec.Options) { o.OnlyLocked, o.Command = true, append(o.Command, "init") })
		if _, refused := errors.AsType[*exec.UnlockedError](r.err); refused == starts || starts && r.err != nil {
			t.Errorf("%s: error %v", program, r.err)
		}
	}
}

// TestOnlyLockedAfterInit checks that Run explains a failure of init if a module that
// init has downloaded requires an unlocked provider.
func TestOnlyLockedAfterInit(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		program, do, subcommand string
		only, want              bool
	}{
		"tofu":            {"tofu", "download", "init", true, true},
		"terraform":       {"terraform", "download", "init", true, true},
		"not only locked": {"tofu", "download", "init", false, false},
		"another command": {"tofu", "download", "plan", true, false},
		"another program": {"make", "download", "init", true, false},
		"another failure": {"tofu", "fail", "init", true, false},
		"no unlocked":     {"tofu", "download nothing", "init", true, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.lock(t, here, map[string][]string{"one 1.0.0": {w.hashes["one 1.0.0"].zh}})
			w.require(t, "one")
			must(t, os.WriteFile(filepath.Join(w.dir, "module.tf"), []byte("module \"m\" {\n source = \"acme/m/aws\"\n}\n"), 0o600))
			r := w.run(t, test.program, test.do, func(o *exec.Options) { o.OnlyLocked, o.Command = test.only, append(o.Command, test.subcommand) })
			e, is := errors.AsType[*exec.UnlockedError](r.err)
			if is != test.want || is && (len(e.Providers) != 1 || e.Providers[0].Type != "two") || !is && (r.err != nil || r.code == 0) {
				t.Errorf("exit code %d, error %v", r.code, r.err)
			}
		})
	}
}

// TestPluginDir checks that -plugin-dir is rejected if the command must install only
// locked providers.
func TestPluginDir(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		args   string
		env    map[string]string
		only   bool
		refuse bool
	}{
		"flag":                  {args: "init -plugin-dir=x", only: true, refuse: true},
		"two arguments":         {args: "init --plugin-dir x", only: true, refuse: true},
		"variable":              {args: "init", env: map[string]string{"TF_CLI_ARGS_init": "-upgrade '-plugin-dir=x'"}, only: true, refuse: true},
		"another variable":      {args: "init", env: map[string]string{"TF_CLI_ARGS": "-plugin-dir=x"}, only: true, refuse: true},
		"another flag":          {args: "init -plugin-directory", only: true},
		"another command":       {args: "plan -plugin-dir=x", only: true},
		"without restrictions":  {args: "init -plugin-dir=x"},
		"variable of a command": {args: "init", env: map[string]string{"TF_CLI_ARGS_plan": "-plugin-dir=x"}, only: true},
	} {
		w := newWorld(t)
		w.lock(t, here, nil)
		r := w.run(t, "tofu", "show", func(o *exec.Options) {
			o.OnlyLocked, o.Command = test.only, append(o.Command, strings.Fields(test.args)...)
			o.Environment.Getenv = func(name string) string { return test.env[name] }
		})
		if errors.Is(r.err, exec.ErrPluginDir) != test.refuse || test.refuse != (r.stdout == "") {
			t.Errorf("%s: error %v, the child printed %q", name, r.err, r.stdout)
		}
	}
}
