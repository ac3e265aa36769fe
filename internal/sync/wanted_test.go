package sync_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tofu-oci/tofu-oci/internal/lock"
	"github.com/tofu-oci/tofu-oci/internal/sync"
	"github.com/tofu-oci/tofu-oci/pkg/module"
	"github.com/tofu-oci/tofu-oci/pkg/source/origin"
)

func TestWanted(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "a [b]") // the directory must not be parsed as a pattern
	write(t, filepath.Join(dir, "mirror.hcl"), minimal+`
sources    = ["providers.txt", "more/providers.txt"]
lock_files = ["live/**/.terraform.lock.hcl", "other"]
defaults {
  versions = "< 9.0"
}
provider "hashicorp/aws" {
  versions = ">= 5.0"
  latest   = 2
}
provider "acme/*" {
  latest = 3
}
`)
	write(t, filepath.Join(dir, "providers.txt"), "# comment\nacme/rocket\nhashicorp/aws@4.67.0\nhashicorp/aws@5.1.0-beta1\nhashicorp/aws@5.1.0\n")
	write(t, filepath.Join(dir, "more", "providers.txt"), "acme/rocket@~> 1.0\n")
	const aws = "provider \"registry.opentofu.org/hashicorp/aws\" {\n  version = \"4.1.0\"\n}\n"
	write(t, filepath.Join(dir, "live", "b", ".terraform.lock.hcl"), aws)
	write(t, filepath.Join(dir, "live", "a", ".terraform.lock.hcl"), aws+"provider \"registry.opentofu.org/hashicorp/null\" {\n  version = \"3.2.4\"\n}\n")
	write(t, filepath.Join(dir, "other", ".terraform.lock.hcl"), "")
	d, err := sync.Read(filepath.Join(dir, "mirror.hcl"), variables)
	if err != nil {
		t.Fatal(err)
	}
	wanted, problems := d.Wanted(t.Context(), nil)
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	want := `registry.opentofu.org/acme/rocket latest 3
  < 9.0 providers.txt:2
  < 9.0, ~> 1.0 more/providers.txt:1
registry.opentofu.org/hashicorp/aws latest 2
  >= 5.0 mirror.hcl:11
  >= 5.0, 4.67.0 providers.txt:3
  5.1.0-beta1 providers.txt:4
  5.1.0 providers.txt:5
  4.1.0 live/a/.terraform.lock.hcl locked
  4.1.0 live/b/.terraform.lock.hcl locked
registry.opentofu.org/hashicorp/null latest 1
  3.2.4 live/a/.terraform.lock.hcl locked
`
	if diff := cmp.Diff(want, describe(dir, wanted)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// TestWantedPredecessors checks that a locked provider of Terraform selects OpenTofu's
// build of it, unless the declaration or the configuration next to the lock file names
// the provider, or the declaration is for Terraform.
func TestWantedPredecessors(t *testing.T) {
	t.Parallel()
	const opentofu, terraform = "registry.opentofu.org/hashicorp/aws", "registry.terraform.io/hashicorp/aws"
	const named = "provider \"" + terraform + "\" {\n  latest = 0\n}\n"
	for name, test := range map[string]struct {
		declaration, configuration string
		want                       []string
	}{
		"default":              {"", "", []string{opentofu}},
		"a policy for a host":  {"provider \"registry.terraform.io/*/*\" {\n}\n", "", []string{opentofu}},
		"terraform":            {"terraform = true\n", "", []string{terraform}},
		"named":                {named, "", []string{terraform}},
		"both named":           {named + "provider \"hashicorp/aws\" {\n  latest = 0\n}\n", "", []string{opentofu, terraform}},
		"in the configuration": {"", "terraform {\n  required_providers {\n    aws = { source = \"" + terraform + "\" }\n  }\n}\n", []string{terraform}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			path := filepath.Join(dir, "mirror.hcl")
			write(t, path, minimal+"lock_files = [\"a\", \"b\"]\n"+test.declaration)
			for _, at := range []string{"a", "b"} { // one lock file must not affect the next one
				write(t, filepath.Join(dir, at, ".terraform.lock.hcl"), "provider \""+terraform+"\" {\n  version = \"4.1.0\"\n  hashes  = [\"zh:x\"]\n}\n")
				write(t, filepath.Join(dir, at, "main.tf"), test.configuration)
			}
			d, err := sync.Read(path, variables)
			if err != nil {
				t.Fatal(err)
			}
			wanted, problems := d.Wanted(t.Context(), nil)
			if len(problems) > 0 {
				t.Fatal(problems)
			}
			var got []string
			for _, w := range wanted {
				got = append(got, w.Address.String())
				locked := 0
				for _, r := range w.Requirements {
					if !r.Locked {
						continue
					}
					locked++
					if r.Constraint.String() != "4.1.0" || (r.Hashes == nil) != (w.Address.String() == opentofu) {
						t.Errorf("got %+v", r)
					}
				}
				if locked != 2 {
					t.Errorf("%s is locked by %d files", w.Address, locked)
				}
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestWantedDenials checks that a deny block with an address applies to a provider that
// nothing selects. It applies in all targets in which no selected provider has the same
// repository.
func TestWantedDenials(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "mirror.hcl")
	write(t, path, `version = 1
target "main" {
  repository = "registry.example.com/main/{namespace}/{type}"
}
target "flat" {
  repository = "registry.example.com/flat/{type}"
}
defaults {
  targets = ["flat"]
}
provider "hashicorp/null" {
}
deny "hashicorp/null" {
  versions = "1.0.0"
  reason   = "withdrawn"
}
deny "acme/*" {
  versions = "1.0.0"
  reason   = "withdrawn"
}
deny "acme/rocket" {
  versions = ["2.0.0", "3.0.0"]
  reason   = "withdrawn"
}
deny "acme/null" {
  versions = "2.0.0"
  reason   = "withdrawn"
}
`)
	d, err := sync.Read(path, variables)
	if err != nil {
		t.Fatal(err)
	}
	wanted, problems := d.Wanted(t.Context(), nil)
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	got := ""
	for _, w := range wanted {
		got += fmt.Sprintln(w.Address, len(w.Requirements), w.Settings.None, w.Settings.Targets)
	}
	want := `registry.opentofu.org/acme/null 0 true [main]
registry.opentofu.org/acme/rocket 0 true [main flat]
registry.opentofu.org/hashicorp/null 1 false [flat]
`
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// TestWantedProblems checks that Wanted returns the remaining providers if a file can't
// be read.
func TestWantedProblems(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, filepath.Join(dir, "mirror.hcl"), minimal+`
sources    = ["none.txt", "wrong.txt", "right.txt"]
lock_files = ["none/**/.terraform.lock.hcl", "live", "wrong.hcl"]
provider "hashicorp/aws" {
}
`)
	write(t, filepath.Join(dir, "wrong.txt"), "hashicorp/null\nhashicorp\n")
	write(t, filepath.Join(dir, "right.txt"), "acme/rocket@2.0.0\n")
	write(t, filepath.Join(dir, "wrong.hcl"), "provider {")
	write(t, filepath.Join(dir, "live", ".terraform.lock.hcl"), "provider \"registry.opentofu.org/hashicorp/null\" {\n  version = \"3.2.4\"\n}\n")
	d, err := sync.Read(filepath.Join(dir, "mirror.hcl"), variables)
	if err != nil {
		t.Fatal(err)
	}
	wanted, problems := d.Wanted(t.Context(), nil)
	want := `registry.opentofu.org/acme/rocket latest 1
  2.0.0 right.txt:1
registry.opentofu.org/hashicorp/aws latest 1
   mirror.hcl:8
registry.opentofu.org/hashicorp/null latest 1
   wrong.txt:1
  3.2.4 live/.terraform.lock.hcl locked
`
	if diff := cmp.Diff(want, describe(dir, wanted)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if len(problems) != 4 || !errors.Is(problems[0], os.ErrNotExist) || !strings.HasSuffix(problems[0].Error(), "; this run removes and denies nothing") || !strings.Contains(problems[1].Error(), "wrong.txt:2") || !errors.Is(problems[2], lock.ErrNoFile) || !strings.Contains(problems[3].Error(), "wrong.hcl:1") {
		t.Errorf("got %q", problems)
	}
}

// TestWantedOutside checks that errors don't contain the content of files outside the
// directory of the declaration.
func TestWantedOutside(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, filepath.Join(dir, "secret"), "canary\n")
	write(t, filepath.Join(dir, "secret.hcl"), "canary = 1\n")
	write(t, filepath.Join(dir, "repo", "mirror.hcl"), minimal+"sources = [\"../secret\", \"link\", \"shown\"]\nlock_files = [\"../secret.hcl\"]\nroots = [\"../live\"]\n")
	write(t, filepath.Join(dir, "live", "main.tf"), "a {\ncanary\n")
	write(t, filepath.Join(dir, "repo", "shown"), "visible\n")
	if err := os.Symlink(filepath.Join("..", "secret"), filepath.Join(dir, "repo", "link")); err != nil {
		t.Fatal(err)
	}
	d, err := sync.Read(filepath.Join(dir, "repo", "mirror.hcl"), variables)
	if err != nil {
		t.Fatal(err)
	}
	_, problems := d.Wanted(t.Context(), func(dirs []string, failed func(string, error)) (*module.Dependencies, error) {
		c, err := module.FindDependencies(t.Context(), origin.NewModules(origin.Options{}), dirs, module.DependencyOptions{OnError: failed})
		t.Cleanup(c.Close)
		return c, err
	})
	if text := fmt.Sprint(problems); len(problems) != 5 || strings.Contains(text, "canary") || !strings.Contains(text, "visible") {
		t.Errorf("got %q", problems)
	}
}

// describe formats providers with paths relative to dir.
func describe(dir string, wanted []sync.Wanted) string {
	var text strings.Builder
	for _, w := range wanted {
		fmt.Fprintln(&text, w.Address, "latest", w.Settings.Latest)
		for _, r := range w.Requirements {
			from := filepath.ToSlash(strings.TrimPrefix(r.From, dir+string(filepath.Separator)))
			if r.Locked {
				from += " locked"
			}
			if r.Address != w.Address {
				from += " of " + r.Address.String()
			}
			fmt.Fprintln(&text, " ", r.Constraint, from)
		}
	}
	return text.String()
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o600)); err != nil {
		t.Fatal(err)
	}
}
