package cliconfig_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tofu-oci/tofu-oci/internal/opentofu/cliconfig"
	"github.com/tofu-oci/tofu-oci/internal/stricthcl"
)

// machine is a directory with a user's files, and an environment that refers to the
// directory. In expected values, "~" represents the directory.
type machine struct {
	root string
	env  cliconfig.Environment
}

// newMachine creates files in a new directory. Paths with a trailing slash are
// directories. In the variables, "~" represents the new directory.
func newMachine(t *testing.T, system string, variables map[string]string, paths ...string) *machine {
	t.Helper()
	m := &machine{root: t.TempDir()}
	for _, path := range paths {
		m.write(t, path, "")
	}
	set := map[string]string{}
	for name, value := range variables {
		set[name] = m.path(value)
	}
	m.env = cliconfig.Environment{OS: system, Home: m.root, WorkDir: m.path("~/here"), Getenv: func(name string) string { return set[name] }}
	return m
}

func (m *machine) path(path string) string {
	return filepath.FromSlash(strings.ReplaceAll(path, "~", filepath.ToSlash(m.root)))
}

func (m *machine) write(t *testing.T, path, data string) {
	t.Helper()
	full := filepath.Join(m.root, filepath.FromSlash(path))
	dir := filepath.Dir(full)
	if strings.HasSuffix(path, "/") {
		dir = full
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if dir == full {
		return
	}
	if err := os.WriteFile(full, []byte(data), 0o600); err != nil {
		t.Fatal(err)
	}
}

// short returns paths relative to the machine's directory, with the prefix "~".
func (m *machine) short(paths ...string) []string {
	var short []string
	for _, path := range paths {
		short = append(short, strings.ReplaceAll(filepath.ToSlash(path), filepath.ToSlash(m.root), "~"))
	}
	return short
}

func TestLocate(t *testing.T) {
	t.Parallel()
	xdg := map[string]string{"XDG_CONFIG_HOME": "~/xdg"}
	appData := map[string]string{"APPDATA": "~/Roaming"}
	unixes := []string{"linux", "darwin", "freebsd"}
	for _, test := range []struct {
		name      string
		systems   []string
		variables map[string]string
		files     []string
		// chosen contains the files to read, and absent the missing files.
		chosen, absent []string
	}{
		{"no files", unixes, nil, nil, nil, []string{"~/.tofurc", "~/.terraformrc", "~/.terraform.d"}},
		{"the main file", unixes, nil, []string{".tofurc"}, []string{"~/.tofurc"}, []string{"~/.terraformrc", "~/.terraform.d"}},
		{"the old name", unixes, nil, []string{".terraformrc"}, []string{"~/.terraformrc"}, []string{"~/.tofurc", "~/.terraform.d"}},
		{"both names", unixes, nil, []string{".terraformrc", ".tofurc"}, []string{"~/.tofurc"}, []string{"~/.terraform.d"}},
		{"XDG", unixes, xdg, []string{"xdg/opentofu/tofurc"}, []string{"~/xdg/opentofu/tofurc"}, []string{"~/.tofurc", "~/.terraformrc", "~/.terraform.d"}},
		{"XDG and the main file", unixes, xdg, []string{"xdg/opentofu/tofurc", ".tofurc"}, []string{"~/.tofurc"}, []string{"~/.terraformrc", "~/.terraform.d"}},
		{"XDG and the old name", unixes, xdg, []string{"xdg/opentofu/tofurc", ".terraformrc"}, []string{"~/.terraformrc"}, []string{"~/.tofurc", "~/.terraform.d"}},
		{"no XDG variable", unixes, nil, []string{"xdg/opentofu/tofurc", ".config/opentofu/tofurc"}, nil, []string{"~/.tofurc", "~/.terraformrc", "~/.terraform.d"}},
		{"nothing in XDG", unixes, xdg, nil, nil, []string{"~/.tofurc", "~/.terraformrc", "~/xdg/opentofu/tofurc", "~/.terraform.d", "~/xdg/opentofu"}},
		{
			"the directory", unixes, xdg,
			[]string{".terraform.d/b.tfrc", ".terraform.d/a.tfrc.json", ".terraform.d/credentials.tfrc.json", ".terraform.d/c.tfrc~", ".terraform.d/x.json", "xdg/opentofu/x.tfrc", ".tofurc"},
			[]string{"~/.tofurc", "~/.terraform.d/a.tfrc.json", "~/.terraform.d/b.tfrc", "~/.terraform.d/credentials.tfrc.json"},
			[]string{"~/.terraformrc", "~/xdg/opentofu/tofurc"},
		},
		{"the directory in XDG", unixes, xdg, []string{"xdg/opentofu/x.tfrc"}, []string{"~/xdg/opentofu/x.tfrc"}, []string{"~/.tofurc", "~/.terraformrc", "~/xdg/opentofu/tofurc", "~/.terraform.d"}},
		{"a file instead of the directory", unixes, xdg, []string{".terraform.d", "xdg/opentofu/x.tfrc", ".tofurc"}, []string{"~/.tofurc"}, []string{"~/.terraformrc", "~/xdg/opentofu/tofurc"}},
		{
			"TF_CLI_CONFIG_FILE", []string{"linux", "windows"}, map[string]string{"TF_CLI_CONFIG_FILE": "~/ci", "TERRAFORM_CONFIG": "~/old", "APPDATA": "~/Roaming"},
			[]string{"ci", "old", ".tofurc", ".terraform.d/x.tfrc", "Roaming/tofu.rc"}, []string{"~/ci"}, nil,
		},
		{"TERRAFORM_CONFIG", []string{"darwin", "windows"}, map[string]string{"TERRAFORM_CONFIG": "~/old"}, []string{"old", ".tofurc"}, []string{"~/old"}, nil},
		{"missing TF_CLI_CONFIG_FILE", []string{"linux", "windows"}, map[string]string{"TF_CLI_CONFIG_FILE": "~/ci"}, []string{".tofurc", ".terraform.d/x.tfrc"}, []string{"~/ci"}, []string{"~/ci"}},
		{"Windows", []string{"windows"}, appData, []string{"Roaming/tofu.rc", ".tofurc"}, []string{"~/Roaming/tofu.rc"}, []string{"~/Roaming/terraform.rc", "~/Roaming/terraform.d"}},
		{"Windows, the old name", []string{"windows"}, appData, []string{"Roaming/terraform.rc"}, []string{"~/Roaming/terraform.rc"}, []string{"~/Roaming/tofu.rc", "~/Roaming/terraform.d"}},
		{"Windows, both names", []string{"windows"}, appData, []string{"Roaming/terraform.rc", "Roaming/tofu.rc"}, []string{"~/Roaming/tofu.rc"}, []string{"~/Roaming/terraform.d"}},
		{"Windows, the directory", []string{"windows"}, appData, []string{"Roaming/terraform.d/x.tfrc"}, []string{"~/Roaming/terraform.d/x.tfrc"}, []string{"~/Roaming/tofu.rc", "~/Roaming/terraform.rc"}},
		{"XDG on Windows", []string{"windows"}, map[string]string{"XDG_CONFIG_HOME": "~/xdg", "APPDATA": "~/Roaming"}, []string{"xdg/opentofu/tofurc", "xdg/opentofu/x.tfrc"}, nil, []string{"~/Roaming/tofu.rc", "~/Roaming/terraform.rc", "~/Roaming/terraform.d"}},
		{"Windows without APPDATA", []string{"windows"}, nil, []string{".tofurc"}, nil, nil},
	} {
		for _, system := range test.systems {
			t.Run(test.name+" on "+system, func(t *testing.T) {
				t.Parallel()
				m := newMachine(t, system, test.variables, test.files...)
				files, err := cliconfig.Locate(m.env, "")
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(test.chosen, m.short(files.Chosen()...)); diff != "" {
					t.Errorf("wrong files (-want +got):\n%s", diff)
				}
				var absent []string
				for _, p := range files {
					if p.Why == "" || p.Err != nil {
						t.Errorf("%s: got reason %q, error %v", p.Path, p.Why, p.Err)
					}
					if !p.Found {
						absent = append(absent, p.Path)
					}
				}
				if diff := cmp.Diff(test.absent, m.short(absent...)); diff != "" {
					t.Errorf("wrong absent places (-want +got):\n%s", diff)
				}
			})
		}
	}
}

func TestLocateExplicit(t *testing.T) {
	t.Parallel()
	m := newMachine(t, "linux", map[string]string{"TF_CLI_CONFIG_FILE": "~/ci"}, "mine", "ci", ".tofurc", ".terraform.d/x.tfrc")
	files, err := cliconfig.Locate(m.env, m.path("~/mine"))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"~/mine"}, m.short(files.Chosen()...)); diff != "" || len(files) != 1 {
		t.Errorf("%v\n%s", files, diff)
	}
	if _, err := cliconfig.Locate(m.env, m.path("~/other")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("missing file: got %v, want fs.ErrNotExist", err)
	}
}

func TestLocateIgnored(t *testing.T) {
	t.Parallel()
	m := newMachine(t, "linux", map[string]string{"TF_CLI_CONFIG_FILE": "~/ci"}, "ci", ".tofurc", ".terraformrc")
	files, err := cliconfig.Locate(m.env, "")
	want := []cliconfig.ConfigFile{
		{Path: m.path("~/ci"), Why: "specified by TF_CLI_CONFIG_FILE", Found: true, Chosen: true},
		{Path: m.path("~/.tofurc"), Why: "ignored because TF_CLI_CONFIG_FILE is set", Found: true, Ignored: true},
	}
	if err != nil || !slices.Equal(files, want) {
		t.Errorf("got %+v, %v; want %+v", files, err, want)
	}
}

func TestLocateWithoutHome(t *testing.T) {
	t.Parallel()
	files, err := cliconfig.Locate(cliconfig.Environment{OS: "linux"}, "")
	if err != nil || len(files) != 0 {
		t.Errorf("got %v, %v", files, err)
	}
}

func TestLocateSkipsUnreadablePaths(t *testing.T) {
	t.Parallel()
	m := newMachine(t, "linux", nil, "file")
	m.env.Home = m.path("~/file")
	if _, err := os.Stat(m.path("~/file/.tofurc")); errors.Is(err, fs.ErrNotExist) {
		return // On Windows, the error means that the file doesn't exist.
	}
	config := m.read(t)
	if len(config.Notes) != 3 || !strings.Contains(config.Notes[0].Text, "OpenTofu ignores this file, because it cannot be opened") {
		t.Errorf("got %v", config.Notes)
	}
}

func TestPluginDirs(t *testing.T) {
	t.Parallel()
	list := string(os.PathListSeparator)
	for _, test := range []struct {
		name, system string
		variables    map[string]string
		want         []string
	}{
		{"Linux", "linux", nil, []string{"~/here/terraform.d/plugins", "~/.terraform.d/plugins", "~/.local/share/terraform/plugins", "/usr/local/share/terraform/plugins", "/usr/share/terraform/plugins"}},
		{
			"Linux with XDG", "linux", map[string]string{"XDG_DATA_HOME": "~/data", "XDG_DATA_DIRS": "~/one" + list + "relative" + list + "~/two"},
			[]string{"~/here/terraform.d/plugins", "~/.terraform.d/plugins", "~/data/opentofu/plugins", "~/data/terraform/plugins", "~/one/terraform/plugins", "~/two/terraform/plugins"},
		},
		{
			"a relative XDG_DATA_HOME", "freebsd", map[string]string{"XDG_DATA_HOME": "data", "XDG_DATA_DIRS": "~/one"},
			[]string{"~/here/terraform.d/plugins", "~/.terraform.d/plugins", "data/opentofu/plugins", "~/.local/share/terraform/plugins", "~/one/terraform/plugins"},
		},
		{
			"macOS", "darwin", map[string]string{"XDG_DATA_HOME": "~/data"},
			[]string{"~/here/terraform.d/plugins", "~/.terraform.d/plugins", "~/data/opentofu/plugins", "~/Library/Application Support/io.terraform/plugins", "/Library/Application Support/io.terraform/plugins"},
		},
		{
			"Windows", "windows", map[string]string{"APPDATA": "~/Roaming", "LOCALAPPDATA": "~/Local", "XDG_DATA_HOME": "~/data"},
			[]string{"~/here/terraform.d/plugins", "~/Roaming/terraform.d/plugins", "~/Roaming/HashiCorp/Terraform/plugins"},
		},
		{"Windows without roaming", "windows", map[string]string{"LOCALAPPDATA": "~/Local"}, []string{"~/here/terraform.d/plugins", "~/Local/HashiCorp/Terraform/plugins"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			m := newMachine(t, test.system, test.variables)
			if diff := cmp.Diff(test.want, m.short(m.env.PluginDirs()...)); diff != "" {
				t.Errorf("wrong directories (-want +got):\n%s", diff)
			}
		})
	}
}

func TestReadMergesFiles(t *testing.T) {
	t.Parallel()
	m := newMachine(t, "linux", map[string]string{"NAME": "cache"})
	m.write(t, ".tofurc", "plugin_cache_dir = \"${NAME}/$NONE-x\"\nhost \"a.example\" {\n  services = { \"providers.v1\" = \"main\", \"modules.v1\" = \"main\" }\n}\nhost \"b.example\" {}\ncredentials \"a.example\" {\n  token = \"main\"\n}\noci_credentials \"ghcr.io\" {\n  docker_credentials_helper = \"main\"\n}\n")
	m.write(t, ".terraform.d/1.tfrc", "plugin_cache_dir = \"first\"\nhost \"a.example\" {\n  services = { \"providers.v1\" = \"first\" }\n}\nprovider_installation {\n  direct {}\n}\n")
	m.write(t, ".terraform.d/2.tfrc.json", `{"credentials":{"a.example":{"token":"second"}},"oci_credentials":{"quay.io":{"docker_credentials_helper":"second"}},"oci_default_credentials":{}}`)
	config := m.read(t)
	want := services{"a.example": {"providers.v1": "first"}, "b.example": {}}
	if diff := cmp.Diff(want, config.Services); diff != "" {
		t.Errorf("of host blocks the last file's counts (-want +got):\n%s", diff)
	}
	if got := config.Tokens["a.example"].Reveal(); got != "second" {
		t.Errorf("got token %q", got)
	}
	if config.PluginCacheDir != "cache/-x" {
		t.Errorf("got plugin_cache_dir %q", config.PluginCacheDir)
	}
	if len(config.Logins) != 2 || config.Logins[0].Registry != "ghcr.io" || config.Logins[1].Registry != "quay.io" || config.DefaultLogins.Position.Line != 1 {
		t.Errorf("got logins %v, %v", config.Logins, config.DefaultLogins)
	}
	if config.Installation == nil || filepath.Base(config.Installation.Position.File) != "1.tfrc" {
		t.Errorf("got installation %v", config.Installation)
	}
}

func (m *machine) read(t *testing.T) cliconfig.Config {
	t.Helper()
	files, err := cliconfig.Locate(m.env, "")
	if err != nil {
		t.Fatal(err)
	}
	config, err := cliconfig.Read(m.env, files)
	if err != nil {
		t.Fatal(err)
	}
	return config
}

func TestReadRejectsDuplicates(t *testing.T) {
	t.Parallel()
	for name, block := range map[string]string{
		"provider_installation":   "provider_installation {}",
		"oci_default_credentials": "oci_default_credentials {}",
		"oci_credentials":         "oci_credentials \"a.io\" {\n  docker_credentials_helper = \"x\"\n}",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := newMachine(t, "linux", nil)
			m.write(t, ".tofurc", "\n"+block)
			m.write(t, ".terraform.d/x.tfrc", block)
			files, err := cliconfig.Locate(m.env, "")
			if err != nil {
				t.Fatal(err)
			}
			_, err = cliconfig.Read(m.env, files)
			var e *stricthcl.Error
			if !errors.As(err, &e) || filepath.Base(e.File) != "x.tfrc" || e.Line != 1 || !strings.HasSuffix(e.Problem, ".tofurc:2:1") {
				t.Errorf("got %v", err)
			}
		})
	}
}

func TestReadReportsAllFiles(t *testing.T) {
	t.Parallel()
	m := newMachine(t, "linux", nil)
	m.write(t, ".tofurc", "host")
	m.write(t, ".terraform.d/x.tfrc", "provider_installation {\n  x {}\n}")
	m.write(t, ".terraform.d/y.tfrc", strings.Repeat("#", 300<<10))
	m.write(t, ".terraform.d/z.tfrc/", "")
	files, err := cliconfig.Locate(m.env, "")
	if err != nil {
		t.Fatal(err)
	}
	config, err := cliconfig.Read(m.env, files)
	for _, want := range []string{".tofurc:1:", "x.tfrc:2:3: ", "y.tfrc exceeds", "z.tfrc"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q is missing: %v", want, err)
		}
	}
	if config.Services != nil {
		t.Errorf("got configuration %v with an error", config)
	}
}

func TestReadNotesIgnoredPaths(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name      string
		variables map[string]string
		files     []string
		want      string
	}{
		{"a variable's file", map[string]string{"TF_CLI_CONFIG_FILE": "~/none"}, nil, "OpenTofu ignores this file (specified by TF_CLI_CONFIG_FILE), because it does not exist"},
		{"a cache", map[string]string{"TF_PLUGIN_CACHE_DIR": "~/none"}, nil, "OpenTofu fails, because this plugin_cache_dir does not exist"},
		{"nothing", map[string]string{"TF_PLUGIN_CACHE_DIR": "~/there"}, []string{"there/"}, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			m := newMachine(t, "linux", test.variables, test.files...)
			var notes []string
			for _, n := range m.read(t).Notes {
				notes = append(notes, n.Text)
			}
			if got := strings.Join(notes, "\n"); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

func TestSystemEnvironment(t *testing.T) {
	env := cliconfig.SystemEnvironment()
	if env.OS == "" || env.Getenv == nil || !slices.ContainsFunc(env.PluginDirs(), func(dir string) bool { return filepath.Base(dir) == "plugins" }) {
		t.Errorf("got %v", env)
	}
	t.Setenv("HOME", filepath.Join("some", "home"))
	if got := cliconfig.SystemEnvironment().Home; got != filepath.Join("some", "home") {
		t.Errorf("got home %q", got)
	}
}
