package cliconfig_test

import (
	"errors"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tofu-oci/tofu-oci/internal/opentofu/cliconfig"
	"github.com/tofu-oci/tofu-oci/internal/stricthcl"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// rewrite rewrites a configuration whose files are in a new home directory.
func rewrite(t *testing.T, files map[string]string, m cliconfig.RewriteOptions, providers ...string) (string, error) {
	t.Helper()
	home := t.TempDir()
	for name, text := range files {
		path := filepath.Join(home, filepath.FromSlash(name))
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	env := cliconfig.Environment{OS: "linux", Home: home, Getenv: func(name string) string {
		return map[string]string{"XDG_DATA_DIRS": filepath.Join(home, "none")}[name]
	}}
	located, err := cliconfig.Locate(env, "")
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range providers {
		a, err := provider.ParseAddress(p)
		if err != nil {
			t.Fatal(err)
		}
		m.Providers = append(m.Providers, a)
	}
	m.WorkDir = filepath.Join(home, m.WorkDir)
	text, err := cliconfig.Rewrite(env, located, m)
	// Windows paths have a drive and backslashes, which are doubled in strings.
	portable := onDrive.ReplaceAllStringFunc(string(text), func(path string) string { return strings.ReplaceAll(path, `\\`, "/") })
	return strings.NewReplacer(filepath.ToSlash(home), "~", filepath.VolumeName(home)+"/", "/").Replace(portable), err
}

var onDrive = regexp.MustCompile(`"[A-Za-z]:[^"]*"`)

func TestRewrite(t *testing.T) {
	t.Parallel()
	const null = "registry.terraform.io/hashicorp/null"
	mirror := cliconfig.RewriteOptions{Dir: "/store/mirror", WorkDir: "work"}
	left, err := provider.ParseAddress("a/left")
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		name  string
		files map[string]string
		into  cliconfig.RewriteOptions
		want  string
	}{
		{"no configuration", nil, mirror, `provider_installation {
  filesystem_mirror {
    path = "/store/mirror"
    include = ["registry.terraform.io/hashicorp/null"]
  }
  direct {
    exclude = ["registry.terraform.io/hashicorp/null"]
  }
}
`},
		{"plugin directories", map[string]string{
			".terraform.d/plugins/example.com/a/packed/terraform-provider-packed_1.0.0_linux_amd64.zip": "",
			"work/terraform.d/plugins/example.com/a/unpacked/1.0.0/linux_amd64/terraform-provider":      "",
			"work/terraform.d/plugins/example.com/a/none/one/linux_amd64/terraform-provider":            "",
		}, mirror, `provider_installation {
  filesystem_mirror {
    path = "/store/mirror"
    include = ["registry.terraform.io/hashicorp/null"]
  }
  filesystem_mirror {
    path = "~/work/terraform.d/plugins"
    exclude = ["registry.terraform.io/hashicorp/null"]
  }
  filesystem_mirror {
    path = "~/.terraform.d/plugins"
    exclude = ["registry.terraform.io/hashicorp/null"]
  }
  direct {
    exclude = ["registry.terraform.io/hashicorp/null", "example.com/a/unpacked", "example.com/a/packed"]
  }
}
`},
		{"all that there is", map[string]string{".tofurc": `
plugin_cache_dir = "cache"
disable_checkpoint = true
plugin_cache_may_break_dependency_lock_file = false
unknown_block "with" "labels" {
  number = 1.5
  "odd name" = [1, "two", true]
}
oci_default_credentials {
  discover_ambient_credentials = false
}
oci_credentials "example.com" {
  username = "u"
  password = "secret"
}
credentials_helper "store" {
  args = ["-x", "a b"]
}
host "example.com" {
  services = {
    "providers.v1" = "https://example.com/v1/"
    "login.v1" = {
      client = "c"
      ports = [1, 2]
    }
  }
}
credentials "example.com" {
  token = "t\"\\${x}"
}
provider_installation {
  dev_overrides {
    "hashicorp/time" = "../time"
    "hashicorp/null" = "/abs"
  }
  oci_mirror {
    repository_template = "example.com/${namespace}/${type}"
    include = ["registry.opentofu.org/*/*"]
  }
  filesystem_mirror {
    path = "mirror"
    include = ["hashicorp/*"]
  }
  network_mirror {
    url = "https://example.com/"
    exclude = ["a/b"]
    download_retry_count = 3
  }
  direct {}
}
`}, cliconfig.RewriteOptions{Dir: "/store/mirror", WorkDir: "work"}, `plugin_cache_dir = "cache"
disable_checkpoint = true
unknown_block "with" "labels" {
  number = 1.5
  "odd name" = [1, "two", true]
}
host "example.com" {
  services = {
    "providers.v1" = "https://example.com/v1/"
    "login.v1" = {
      client = "c"
      ports = [1, 2]
    }
  }
}
credentials "example.com" {
  token = "t\"\\${x}"
}
credentials_helper "store" {
  args = ["-x", "a b"]
}
provider_installation {
  dev_overrides {
    "hashicorp/time" = "~/time"
    "hashicorp/null" = "/abs"
  }
  filesystem_mirror {
    path = "/store/mirror"
    include = ["registry.terraform.io/hashicorp/null"]
  }
  filesystem_mirror {
    path = "~/work/mirror"
    include = ["hashicorp/*"]
    exclude = ["registry.terraform.io/hashicorp/null"]
  }
  network_mirror {
    url = "https://example.com/"
    download_retry_count = 3
    exclude = ["registry.terraform.io/hashicorp/null", "a/b"]
  }
  direct {
    exclude = ["registry.terraform.io/hashicorp/null"]
  }
}
`},
		{"several files", map[string]string{
			".tofurc": `disable_checkpoint = false
registry_protocols {
  retry_count = 1
}
credentials "one.example" {
  token = "1"
}
credentials "two.example" {
  token = "2"
}
`,
			".terraform.d/a.tfrc.json": `{"disable_checkpoint": true, "registry_protocols": {"retry_count": 5, "request_timeout_seconds": 9},
  "credentials": {"ONE.example": {"token": "other"}},
  "provider_installation": [{"direct": [{"exclude": ["x/y"]}], "oci_mirror": [{"repository_template": "e/${namespace}/${type}", "include": ["registry.opentofu.org/*/*"]}]}]}`,
		}, mirror, `disable_checkpoint = true
registry_protocols {
  retry_count = 1
  request_timeout_seconds = 9
}
credentials "two.example" {
  token = "2"
}
credentials "ONE.example" {
  token = "other"
}
provider_installation {
  filesystem_mirror {
    path = "/store/mirror"
    include = ["registry.terraform.io/hashicorp/null"]
  }
  direct {
    exclude = ["registry.terraform.io/hashicorp/null", "x/y"]
  }
}
`},
		{"only the mirror", map[string]string{".tofurc": `
credentials "example.com" {
  token = "t"
}
provider_installation {
  dev_overrides {
    "hashicorp/time" = "/time"
  }
  filesystem_mirror {
    path = "mirror"
  }
  network_mirror {
    url = "https://example.com/"
  }
  direct {}
}
`}, cliconfig.RewriteOptions{Dir: "/store/mirror", Only: true}, `credentials "example.com" {
  token = "t"
}
provider_installation {
  dev_overrides {
    "hashicorp/time" = "/time"
  }
  filesystem_mirror {
    path = "/store/mirror"
  }
}
`},
		{"only the mirror and a filesystem_mirror", map[string]string{".tofurc": `
provider_installation {
  filesystem_mirror {
    path = "mirror"
    include = ["a/*", "b/*"]
  }
  direct {}
}
`}, cliconfig.RewriteOptions{Dir: "/store/mirror", WorkDir: "work", Only: true, Left: []provider.Address{left}}, `provider_installation {
  filesystem_mirror {
    path = "/store/mirror"
    exclude = ["registry.opentofu.org/a/left"]
  }
  filesystem_mirror {
    path = "~/work/mirror"
    include = ["registry.opentofu.org/a/left"]
  }
}
`},
		{"only the mirror and a plugin directory", map[string]string{
			".terraform.d/plugins/registry.opentofu.org/a/left/1.0.0/linux_amd64/terraform-provider": "",
		}, cliconfig.RewriteOptions{Dir: "/store/mirror", Only: true, Left: []provider.Address{left}}, `provider_installation {
  filesystem_mirror {
    path = "/store/mirror"
    exclude = ["registry.opentofu.org/a/left"]
  }
  filesystem_mirror {
    path = "~/.terraform.d/plugins"
    include = ["registry.opentofu.org/a/left"]
  }
}
`},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			got, err := rewrite(t, test.files, test.into, null)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff("# Written by tofu-oci for one run of a program.\n"+test.want, got); diff != "" {
				t.Error(diff)
			}
			c, err := cliconfig.Parse("written", []byte(got))
			if err != nil {
				t.Fatalf("parsing the result: %v", err)
			}
			if len(c.Logins) > 0 || c.Installation == nil {
				t.Errorf("got configuration %v", c)
			}
		})
	}
}

// TestRewriteIsEquivalent checks that OpenTofu reads the same settings from the
// rewritten file.
func TestRewriteIsEquivalent(t *testing.T) {
	t.Parallel()
	const text = `{
  "credentials": {"a.example": {"token": "t"}, "b.example": {}},
  "host": {"a.example": {"services": {"providers.v1": "https://a.example/p/"}}},
  "credentials_helper": {"x": {"args": ["1"]}},
  "plugin_cache_dir": "/cache"
}`
	before, err := cliconfig.Parse("before", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	got, err := rewrite(t, map[string]string{".terraformrc": text}, cliconfig.RewriteOptions{})
	if err != nil {
		t.Fatal(err)
	}
	after, err := cliconfig.Parse("after", []byte(got))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(before.Services, after.Services); diff != "" {
		t.Error(diff)
	}
	if !maps.Equal(before.Tokens, after.Tokens) || after.CredentialsHelper == nil || !slices.Equal(after.CredentialsHelper.Args, []string{"1"}) {
		t.Errorf("%v, %v", after.Tokens, after.CredentialsHelper)
	}
	if after.PluginCacheDir != before.PluginCacheDir {
		t.Errorf("got plugin cache %s, want %s", after.PluginCacheDir, before.PluginCacheDir)
	}
	// If no providers are mirrored, the mirror is omitted.
	if methods := after.Installation.Methods; len(methods) != 1 || methods[0].Kind != cliconfig.Direct || len(methods[0].Exclude) > 0 {
		t.Errorf("got methods %v", methods)
	}
}

// TestRewriteForOCI checks that blocks for OCI registries are kept for OpenTofu 1.10
// and later. The mirrored provider must still be installed only from the directory.
func TestRewriteForOCI(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		".tofurc": `
oci_default_credentials {
  docker_style_config_files = ["auth.json", "/abs.json"]
}
oci_credentials "example.com/a" {
  username = "u"
  password = "secret"
}
provider_installation {
  oci_mirror {
    repository_template = "example.com/${namespace}/${type}"
    include = ["registry.terraform.io/*/*"]
    exclude = ["a/b"]
  }
}`,
		".terraformrc": `{
  "oci_default_credentials": {"docker_style_config_files": ["auth.json", "/abs.json"]},
  "oci_credentials": {"example.com/a": {"username": "u", "password": "secret"}},
  "provider_installation": [{"oci_mirror": [{"repository_template": "example.com/${namespace}/${type}", "include": ["registry.terraform.io/*/*"], "exclude": ["a/b"]}]}]
}`,
	} {
		before, err := cliconfig.Parse(name, []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		got, err := rewrite(t, map[string]string{name: text}, cliconfig.RewriteOptions{Dir: "/store/mirror", OCI: true}, "registry.terraform.io/hashicorp/null")
		if err != nil {
			t.Fatal(err)
		}
		after, err := cliconfig.Parse("after", []byte(got))
		if err != nil {
			t.Fatalf("%v in\n%s", err, got)
		}
		m := after.Installation.Methods[1]
		if len(m.Exclude) != 2 || m.Exclude[0].String() != "registry.terraform.io/hashicorp/null" || m.Template != before.Installation.Methods[0].Template {
			t.Errorf("got method %v", m)
		}
		login, want := after.Logins[0], before.Logins[0]
		login.Position = want.Position
		if login != want || !slices.Equal(after.DefaultLogins.DockerFiles[1:], before.DefaultLogins.DockerFiles[1:]) {
			t.Errorf("wrong logins in\n%s", got)
		}
		if !strings.Contains(got, `docker_style_config_files = ["~/auth.json", "/abs.json"]`) {
			t.Errorf("wrong files in\n%s", got)
		}
	}
}

func TestRewriteErrors(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"malformed":      `provider_installation {`,
		"control":        `{"disable": "a` + `\u0000` + `b"}`,
		"open interpola": `{"some_text": "${a"}`,
	} {
		if _, err := rewrite(t, map[string]string{".tofurc": text}, cliconfig.RewriteOptions{}); err == nil {
			t.Errorf("%s: no error", name)
		} else if _, ok := errors.AsType[*stricthcl.Error](err); !ok {
			t.Errorf("%s: error %v", name, err)
		}
	}
}

// TestTerraform checks that Terraform doesn't read OpenTofu's files.
func TestTerraform(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	for _, name := range []string{".tofurc", ".terraformrc", "xdg/opentofu/tofurc", "xdg/opentofu/a.tfrc"} {
		path := filepath.Join(home, filepath.FromSlash(name))
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, nil, 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	env := cliconfig.Environment{OS: "linux", Home: home, Terraform: true, Getenv: func(name string) string {
		return map[string]string{"XDG_CONFIG_HOME": filepath.Join(home, "xdg"), "XDG_DATA_HOME": filepath.Join(home, "data")}[name]
	}}
	files, err := cliconfig.Locate(env, "")
	if want := []string{filepath.Join(home, ".terraformrc")}; err != nil || !slices.Equal(files.Chosen(), want) {
		t.Errorf("%v, %v; want %v", files.Chosen(), err, want)
	}
	for _, dir := range env.PluginDirs() {
		if strings.Contains(dir, "opentofu") {
			t.Errorf("%s is OpenTofu's", dir)
		}
	}
}
