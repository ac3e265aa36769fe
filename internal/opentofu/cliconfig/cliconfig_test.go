package cliconfig_test

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	svchost "github.com/hashicorp/terraform-svchost"

	"github.com/tofu-oci/tofu-oci/internal/opentofu/cliconfig"
	"github.com/tofu-oci/tofu-oci/internal/stricthcl"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

type services = map[svchost.Hostname]map[string]string

func TestParse(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, data string
		want       services
	}{
		{"an empty file", "", services{}},
		{"comments only", "# nothing\n", services{}},
		{"a host", `host "registry.example.com" { services = { "providers.v1" = "https://mirror.example/v1/" } }`, services{
			"registry.example.com": {"providers.v1": "https://mirror.example/v1/"},
		}},
		{"a host with a port and non-ASCII characters", `host "BÜCHER.example:8443" { services = { "providers.v1" = "/v1/" } }`, services{
			"xn--bcher-kva.example:8443": {"providers.v1": "/v1/"},
		}},
		{"a host without services", `host "a.example" {}`, services{"a.example": {}}},
		{"services as a block", `host "a.example" { services { "providers.v1" = "u" } }`, services{"a.example": {"providers.v1": "u"}}},
		{
			"services that are objects",
			"host \"a.example\" {\n  services = {\n    \"login.v1\" = { client = \"x\", ports = [1, 2] }\n    \"providers.v1\" = \"u\"\n  }\n}\n",
			services{"a.example": {"providers.v1": "u"}},
		},
		{
			"other blocks",
			"plugin_cache_dir = \"/tmp\"\nprovider_installation {\n  direct {}\n}\ncredentials \"a.example\" {\n  token = \"t\"\n}\nhost \"b.example\" {}\nhost \"a.example\" {}\n",
			services{"a.example": {}, "b.example": {}},
		},
		{"JSON without hosts", `{"credentials":{"a.example":{"token":"t"}}}`, services{}},
		{"JSON with one host", `{"host":{"a.example":{"services":{"providers.v1":"u"}}}}`, services{"a.example": {"providers.v1": "u"}}},
		{
			"JSON with hosts as members",
			`{"host":{"a.example":{"services":{"providers.v1":"u","login.v1":{"client":"c","ports":[1,2]}}},"b.example":{}}}`,
			services{"a.example": {"providers.v1": "u"}, "b.example": {}},
		},
		{
			"JSON with hosts in a list",
			`{"host":[{"a.example":{"services":{"providers.v1":"u"}}},{"b.example":{"services":{"providers.v1":"v"}}}]}`,
			services{"a.example": {"providers.v1": "u"}, "b.example": {"providers.v1": "v"}},
		},
		{"JSON with commas at the end", `{"host":{"a.example":{"services":{"providers.v1":"u",},},},}`, services{"a.example": {"providers.v1": "u"}}},
		{"JSON with an unused string that makes HCL 1 panic", `{"x":"\ud83d\ude00"}`, services{}},
		{
			"the same host twice", "host \"a.example\" {\n  services = { \"providers.v1\" = \"u\" }\n}\nhost \"a.example\" {\n  services = { \"modules.v1\" = \"v\" }\n}",
			services{"a.example": {"providers.v1": "u", "modules.v1": "v"}},
		},
		{
			"the same service twice", "host \"a.example\" {\n  services = { \"providers.v1\" = \"u\" }\n}\nhost \"a.example\" {\n  services { \"providers.v1\" = \"v\" }\n}",
			services{"a.example": {"providers.v1": "v"}},
		},
		{"hosts as an object", `host = { "a.example" = { services = { "providers.v1" = "u" } } }`, services{"a.example": {"providers.v1": "u"}}},
		{"hosts as blocks in a block", `host { "a.example" { services = { "providers.v1" = "u" } } }`, services{"a.example": {"providers.v1": "u"}}},
		{"services as a label", `host "a.example" "services" { "providers.v1" = "u" }`, services{"a.example": {"providers.v1": "u"}}},
		{"two labels", `host "a.example" "b.example" {}`, services{"a.example": {}}},
		{"a host block of none", `host {}`, services{}},
		{"JSON with a block in a list", `{"host":{"a.example":[{"services":{"providers.v1":"u"}}]}}`, services{"a.example": {"providers.v1": "u"}}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			config, err := cliconfig.Parse("tofurc", []byte(test.data))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, config.Services); diff != "" {
				t.Errorf("wrong services (-want +got):\n%s", diff)
			}
		})
	}
}

func TestParseErrorPositions(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, data   string
		line, column int
		want         string
	}{
		{"a block that does not end", "host \"a.example\" {\n  services = {\n", 3, 2, "expected }"},
		{"a value that is missing", "x =\n\n }", 3, 2, "expected a value"},
		{"a word alone", "\nhost", 2, 6, "a name must be followed by a brace or an equals sign"},
		{"a list", "[1]", 1, 1, "expected a name, a block, or a brace"},
		{"bytes that are no text", "host \"a\xff\" {}", 1, 8, "illegal UTF-8 encoding"},
		{"JSON that is none", "{\n\"a\": 0,x}", 2, 8, "invalid JSON syntax"},
		{"JSON that ends too early", "{\"host\":", 1, 9, "invalid JSON syntax"},
		{"no block", "host = \"a.example\"", 1, 8, "OpenTofu rejects this form of host"},
		{"a host in two forms", "host \"A.example\" {}\nhost \"a.example:443\" {}", 2, 6, `"a.example:443" and "A.example", at tofurc:1:6, are the same host`},
		{"a URL for a host", "\nhost \"https://a.example\" {}", 2, 6, `invalid host name "https://a.example": need just a hostname`},
		{"an underscore", "host \"a_b\" {}", 1, 6, `invalid host name "a_b"`},
		{"services that are text", "host \"a.example\" {\n  services = \"x\"\n}", 2, 14, "OpenTofu rejects this form of host"},
		{"a bad host in JSON", `{"host":{"a_b":{"services":{}}}}`, 1, 8, `invalid host name "a_b"`},
		{"null for hosts in JSON", `{"host":null}`, 1, 8, "OpenTofu rejects this form of host"},
		{"null for credentials in JSON", `{"credentials":{"a.example":null}}`, 1, 15, "OpenTofu rejects this form of credentials"},
		{"a name in JSON that HCL 1 panics at", `{"\ud83d\ude00":{"a":"b"}}`, 0, 0, "OpenTofu's parser crashes"},
		{"a text in JSON that HCL 1 panics at", "{\n\"plugin_cache_dir\":\"\\ud83d\\ude00\"}", 0, 0, "OpenTofu's parser crashes"},
		{"a slash that JSON may escape", `{"plugin_cache_dir":"\/tmp"}`, 1, 23, "illegal char escape"},
		{"JSON that goes on", `{"host":{}} }`, 1, 13, "invalid JSON syntax"},
		{"JSON without a comma", `{"a":1 "b":2}`, 1, 8, "invalid JSON syntax"},
		{"JSON with two commas", `{"a":1,,}`, 1, 8, "invalid JSON syntax"},
		{"JSON without a colon", `{"a" "b":2}`, 1, 6, "invalid JSON syntax"},
		{"JSON with a list in a list", `{"a":[[1],2],"host":7}`, 1, 7, "a list must not contain lists"},
		{"an argument twice", "provider_installation {\n  direct {\n    include = []\n    include = []\n  }\n}", 4, 5, "include is already set"},
		{"an argument without a value", "provider_installation {\n  direct = }\n}", 2, 12, "expected a value: a quoted string"},
		{"lists in lists", "x = " + strings.Repeat("[", 20<<10), 1, 69, "brackets are nested more than 64 levels deep"},
		{"objects in objects", strings.Repeat("{\"a\":", 40<<10), 1, 321, "brackets are nested more than 64 levels deep"},
		{"blocks in blocks", strings.Repeat("a {", 80<<10), 1, 195, "brackets are nested more than 64 levels deep"},
		{"text for a host in JSON", `{"host":"a.example"}`, 1, 8, "OpenTofu rejects this form of host"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			config, err := cliconfig.Parse("tofurc", []byte(test.data))
			var e *stricthcl.Error
			if !errors.As(err, &e) {
				t.Fatalf("got %v, want a syntax error", err)
			}
			if e.File != "tofurc" || e.Line != test.line || e.Column != test.column || !strings.Contains(e.Problem, test.want) {
				t.Errorf("got %#v, want %d:%d … %s …", e, test.line, test.column, test.want)
			}
			if config.Services != nil {
				t.Errorf("got configuration %v with an error", config.Services)
			}
		})
	}
}

func TestSyntaxErrorWithoutPosition(t *testing.T) {
	t.Parallel()
	e := stricthcl.Error{Position: stricthcl.Position{File: "tofurc", Line: 2, Column: 7}, Problem: "is odd"}
	if got := e.Error(); got != "tofurc:2:7: is odd" {
		t.Errorf("got %q", got)
	}
	e.Line, e.Column = 0, 0
	if got := e.Error(); got != "tofurc: is odd" {
		t.Errorf("got %q", got)
	}
}

func TestLoad(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), ".tofurc")
	if _, err := cliconfig.Load(path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a file that is not there: got %v", err)
	}
	write := func(data string) {
		t.Helper()
		if err := os.WriteFile(path, []byte(data), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(`host "a.example" {}`)
	config, err := cliconfig.Load(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(services{"a.example": {}}, config.Services); diff != "" {
		t.Errorf("wrong services (-want +got):\n%s", diff)
	}
	write("host")
	if _, err := cliconfig.Load(path); err == nil || !strings.HasPrefix(err.Error(), path+":1:") {
		t.Errorf("got error %v without the file name", err)
	}
	const limit = 256 << 10
	comment := "#" + strings.Repeat("x", limit-1)
	write(comment)
	if _, err := cliconfig.Load(path); err != nil {
		t.Errorf("the largest file: %v", err)
	}
	write(comment + "x")
	if _, err := cliconfig.Load(path); err == nil || !strings.Contains(err.Error(), "exceeds 262144 bytes") {
		t.Errorf("a file of a byte more: got %v", err)
	}
}

func FuzzParse(f *testing.F) {
	f.Fuzz(func(t *testing.T, data []byte) {
		config, err := cliconfig.Parse("tofurc", data)
		if err != nil {
			var e *stricthcl.Error
			if !errors.As(err, &e) || e.File != "tofurc" || e.Line > bytes.Count(data, []byte("\n"))+1 {
				t.Fatalf("got %v", err)
			}
			if !reflect.DeepEqual(config, cliconfig.Config{}) {
				t.Fatalf("got configuration %v with an error", config)
			}
			return
		}
		for host := range config.Services {
			if again, err := svchost.ForComparison(host.ForDisplay()); err != nil || again != host {
				t.Fatalf("%q is not a host: %v", host, err)
			}
		}
		for _, login := range config.Logins {
			if login.Registry == "" {
				t.Fatalf("got login without a registry: %v", login)
			}
		}
		if config.Installation == nil {
			return
		}
		a, err := provider.ParseAddress("registry.example.com/acme/thing")
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range config.Installation.Methods {
			m.Match(a)
			complete := map[cliconfig.Kind]bool{
				cliconfig.Direct: true, cliconfig.FilesystemMirror: m.Path != "", cliconfig.NetworkMirror: strings.HasPrefix(m.URL, "https:"),
				cliconfig.OCIMirror: m.Template.String() != "" && !m.Template.IsLayout(),
			}
			if !complete[m.Kind] || m.Position.Line == 0 {
				t.Fatalf("incomplete method: %v", m)
			}
		}
	})
}
