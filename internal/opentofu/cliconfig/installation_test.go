package cliconfig_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tofu-oci/tofu-oci/internal/opentofu/cliconfig"
	"github.com/tofu-oci/tofu-oci/internal/stricthcl"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// methods formats an installation block with one line per method.
func methods(i *cliconfig.Installation) []string {
	if i == nil {
		return []string{"no block"}
	}
	var lines []string
	for a, override := range i.DevOverrides {
		lines = append(lines, fmt.Sprintf("%s dev_overrides %s %s", override.Position, a, override.Path))
	}
	for _, m := range i.Methods {
		lines = append(lines, fmt.Sprintf("%s %s %s include=%v exclude=%v", m.Position, m.Kind, m.Template.String()+m.Path+m.URL, m.Include, m.Exclude))
	}
	return lines
}

func parse(t *testing.T, data string) cliconfig.Config {
	t.Helper()
	config, err := cliconfig.Parse("rc", []byte(data))
	if err != nil {
		t.Fatal(err)
	}
	return config
}

func TestInstallationInBothSyntaxes(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, data string
		want       []string
		notes      []string
	}{
		{"none", `plugin_cache_dir = "/x"`, []string{"no block"}, nil},
		{"none in JSON", `{"credentials":{}}`, []string{"no block"}, nil},
		{"an empty block", `provider_installation {}`, nil, nil},
		{"an empty block in JSON", `{"provider_installation":{}}`, nil, nil},
		{
			"every method", `provider_installation {
  dev_overrides {
    "acme/thing" = "/src/x/../thing"
  }
  filesystem_mirror {
    path    = "mirror"
    include = ["A.example/*/*"]
  }
  oci_mirror {
    repository_template = "ghcr.io/acme/${namespace}/${type}"
    include             = ["hashicorp/*"]
    exclude             = ["hashicorp/aws"]
  }
  network_mirror {
    url = "https://mirror.example/v1/"
    trust_all_hashes = true
  }
  direct {
    download_retry_count = 3
  }
}`, []string{
				"rc:3:5 dev_overrides registry.opentofu.org/acme/thing /src/thing",
				"rc:5:3 filesystem_mirror mirror include=[a.example/*/*] exclude=[]",
				"rc:9:3 oci_mirror ghcr.io/acme/${namespace}/${type} include=[registry.opentofu.org/hashicorp/*] exclude=[registry.opentofu.org/hashicorp/aws]",
				"rc:14:3 network_mirror https://mirror.example/v1/ include=[] exclude=[]",
				"rc:18:3 direct  include=[] exclude=[]",
			}, nil,
		},
		{
			"every method in JSON", `{"provider_installation": {
  "dev_overrides": {"acme/thing": "/src/thing"},
  "oci_mirror": [
    {"repository_template": "ghcr.io/${namespace}/${type}", "include": ["a/*"]},
    {"repository_template": "quay.io/${namespace}/${type}", "include": ["b/*"]}
  ],
  "filesystem_mirror": {"path": "one"},
  "direct": [{}],
  "filesystem_mirror": [{"path": "two", "exclude": []}]
}}`, []string{
				"rc:2:33 dev_overrides registry.opentofu.org/acme/thing /src/thing",
				"rc:3:15 oci_mirror ghcr.io/${namespace}/${type} include=[registry.opentofu.org/a/*] exclude=[]",
				"rc:3:15 oci_mirror quay.io/${namespace}/${type} include=[registry.opentofu.org/b/*] exclude=[]",
				"rc:7:22 filesystem_mirror one include=[] exclude=[]",
				"rc:8:11 direct  include=[] exclude=[]",
				"rc:9:22 filesystem_mirror two include=[] exclude=[]",
			}, nil,
		},
		{
			"JSON that OpenTofu misreads", `{"provider_installation": {"direct": {"exclude": ["a/*"]}}}`,
			[]string{"rc:1:25 direct  include=[] exclude=[registry.opentofu.org/a/*]"},
			[]string{"rc:1:25: OpenTofu misreads a provider_installation object whose members are all objects; write at least one member as a list, [{ … }]"},
		},
		{
			"the words of the draft", "provider_installation {\n  oci {\n    registry_template = \"ghcr.io/${namespace}-${type}\"\n    include = [\"example.net/*/*\"]\n  }\n}",
			[]string{"rc:2:3 oci_mirror ghcr.io/${namespace}-${type} include=[example.net/*/*] exclude=[]"},
			[]string{"rc:2:3: oci { registry_template = … } comes from a draft of OpenTofu's RFC; OpenTofu requires oci_mirror { repository_template = … }"},
		},
		{
			"unknown arguments", "provider_installation {\n  direct {\n    inclde = [\"a/*\"]\n  }\n}",
			[]string{"rc:2:3 direct  include=[] exclude=[]"},
			[]string{`rc:3:5: direct blocks have no argument "inclde", so OpenTofu ignores it`},
		},
		{
			"what OpenTofu does not see", `provider_installation { oci_mirror { repository_template = "ghcr.io/${namespace}/${type}" include = ["*/*/*", "a/b"] } }`,
			[]string{"rc:1:25 oci_mirror ghcr.io/${namespace}/${type} include=[*/*/* registry.opentofu.org/a/b] exclude=[]"},
			[]string{"rc:1:25: the template ghcr.io/${namespace}/${type} does not contain ${hostname}, but a pattern in include has a wildcard for this part, so different providers might be installed from the same repository; OpenTofu does not report this"},
		},
		{
			"lists in pieces, and words in any case", `provider_installation { filesystem_mirror { Path = "x" path = "y" include = ["a/b"] Include = ["a/c"] exclude {} } }`,
			[]string{"rc:1:25 filesystem_mirror y include=[registry.opentofu.org/a/b registry.opentofu.org/a/c] exclude=[]"}, nil,
		},
		{"a one-part address", `provider_installation { dev_overrides { aws = "/x" } }`, []string{"rc:1:41 dev_overrides registry.opentofu.org/hashicorp/aws /x"}, nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			config := parse(t, test.data)
			got := methods(config.Installation)
			for i := range got {
				got[i] = strings.ReplaceAll(got[i], `\`, "/")
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("wrong methods (-want +got):\n%s", diff)
			}
			var notes []string
			for _, n := range config.Notes {
				notes = append(notes, n.String())
			}
			if diff := cmp.Diff(test.notes, notes); diff != "" {
				t.Errorf("wrong notes (-want +got):\n%s", diff)
			}
		})
	}
}

func TestCheckInstallation(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ name, data, want string }{
		{"an equals sign", "provider_installation = {}", "rc:1:1: OpenTofu rejects this form of provider_installation"},
		{"a label", `provider_installation "x" {}`, "rc:1:1: OpenTofu rejects this form of provider_installation"},
		{"text in JSON", `{"provider_installation":"x"}`, "rc:1:25: OpenTofu rejects this form of provider_installation"},
		{"a list in JSON", "{\"provider_installation\":[{},\n 1]}", "rc:1:25: OpenTofu rejects this form of provider_installation"},
		{"two blocks", "provider_installation {}\n\nprovider_installation {}", "rc:3:1: duplicate provider_installation block; the first is at rc:1:1"},
		{"a method with an equals sign", "provider_installation {\n  direct = {}\n}", "rc:2:3: OpenTofu rejects this form of provider_installation"},
		{"a method with a label", "provider_installation {\n  direct \"x\" {}\n}", "rc:2:3: OpenTofu rejects this form of provider_installation"},
		{"a method that is text in JSON", `{"provider_installation":{"direct":"x"}}`, "rc:1:35: OpenTofu rejects this form of provider_installation"},
		{"an unknown method", "provider_installation {\n  carrier_pigeon {}\n}", `rc:2:3: unknown installation method "carrier_pigeon"`},
		{"an unknown method in JSON", "{\"provider_installation\":{\n\"Direct\":{}}}", `rc:1:25: unknown installation method "Direct"`},
		{"dev_overrides after a method", "provider_installation {\n  direct {}\n  dev_overrides {}\n}", "rc:3:3: dev_overrides must precede all methods"},
		{"dev_overrides of no address", "provider_installation {\n  dev_overrides {\n    \"a/b/c/d\" = \"/x\"\n  }\n}", `rc:3:5: invalid provider address "a/b/c/d": must be NAMESPACE/TYPE`},
		{"dev_overrides that is a list", "provider_installation {\n  dev_overrides {\n    \"a/b\" = []\n  }\n}", "rc:3:13: OpenTofu rejects this form of provider_installation"},
		{"no path", "provider_installation {\n  filesystem_mirror {}\n}", "rc:2:3: filesystem_mirror must have the argument path"},
		{"no url", "provider_installation {\n  network_mirror {}\n}", "rc:2:3: network_mirror must have the argument url"},
		{"a url without TLS", "provider_installation {\n  network_mirror {\n    url = \"http://a.example/\"\n  }\n}", "rc:3:11: the url of a network_mirror must be an https:// URL with a host"},
		{"no template", "provider_installation {\n  oci_mirror {}\n}", "rc:2:3: oci_mirror must have the argument repository_template"},
		{"the draft without a template", "provider_installation {\n  oci {}\n}", "rc:2:3: oci must have the argument registry_template"},
		{"a misspelled template", "provider_installation {\n  oci_mirror {\n    repository_tempate = \"ghcr.io/${type}\"\n  }\n}", `rc:2:3: oci_mirror must have the argument repository_template; OpenTofu ignores "repository_tempate"`},
		{"no template in JSON", `{"provider_installation":{"oci_mirror":[{}]}}`, "rc:1:39: oci_mirror must have the argument repository_template"},
		{"a count that is not a number", "provider_installation {\n  direct {\n    download_retry_count = \"x\"\n  }\n}", "rc:3:28: OpenTofu rejects this form of provider_installation"},
		{"half a count", "provider_installation {\n  network_mirror {\n    url = \"https://a.example/\"\n    download_retry_count = 1.5\n  }\n}", "rc:4:28: OpenTofu rejects this form of provider_installation"},
		{"true in quotes", "provider_installation {\n  network_mirror {\n    url = \"https://a.example/\"\n    trust_all_hashes = \"true\"\n  }\n}", "rc:4:24: OpenTofu rejects this form of provider_installation"},
		{"null in JSON", `{"provider_installation":null}`, "rc:1:25: OpenTofu rejects this form of provider_installation"},
		{"an empty list in JSON", `{"provider_installation":[]}`, "rc:1:25: OpenTofu rejects this form of provider_installation"},
		{"a method that is null in JSON", `{"provider_installation":[{"direct":null}]}`, "rc:1:36: OpenTofu rejects this form of provider_installation"},
		{"a method that is an empty list in JSON", `{"provider_installation":[{"direct":[]}]}`, "rc:1:36: OpenTofu rejects this form of provider_installation"},
		{"exclude that is null in JSON", `{"provider_installation":[{"direct":[{"exclude":null}]}]}`, "rc:1:36: OpenTofu rejects this form of provider_installation"},
		{"a path that is a list", "provider_installation {\n  filesystem_mirror {\n    path = [\"x\"]\n  }\n}", "rc:3:12: OpenTofu rejects this form of provider_installation"},
		{"include that is text", "provider_installation {\n  direct {\n    include = \"a/*\"\n  }\n}", "rc:3:15: OpenTofu rejects this form of provider_installation"},
		{"include with a list in it", "provider_installation {\n  direct {\n    include = [[]]\n  }\n}", "rc:3:16: OpenTofu rejects this form of provider_installation"},
		{"a pattern of one part", "provider_installation {\n  direct {\n    include = [\"a/b\", \"aws\"]\n  }\n}", `rc:3:24: invalid provider pattern "aws": must be NAMESPACE/TYPE`},
		{"a wildcard in front", "provider_installation {\n  direct {\n    exclude = [\"*/aws\"]\n  }\n}", `rc:3:17: invalid provider pattern "*/aws": every part after a * must also be *`},
		{"a wildcard for hosts only", "provider_installation {\n  direct {\n    include = [\"*/a/*\"]\n  }\n}", `rc:3:17: invalid provider pattern "*/a/*": every part after a *`},
		{"half a wildcard", "provider_installation {\n  direct {\n    include = [\"hashi*/aws\"]\n  }\n}", `rc:3:17: invalid provider pattern "hashi*/aws": the namespace is not valid`},
		{"the second part of a pattern", "{\"provider_installation\":{\"direct\":[{\n \"include\": [\"bücher.example/a/b_c\"]}]}}", `rc:1:35: invalid provider pattern "bücher.example/a/b_c": the type is not valid`},
		{"a template that does not end", `{"provider_installation":{"oci_mirror":[{"repository_template":"ghcr.io/${type"}]}}`, `rc:1:39: invalid repository template "ghcr.io/${type": the brace is not closed`},
		{"a variable that there is not", mirror("ghcr.io/${namespace}/${typ}"), `rc:3:51: invalid repository template "ghcr.io/${namespace}/${typ}": unknown variable "typ"`},
		{"a list for a text", mirror("${[hostname, namespace, type]}"), "rc:3:28: invalid repository template \"${[hostname, namespace, type]}\": does not evaluate to a string"},
		{"a template without ${hostname}", mirror("ghcr.io/${namespace}/${type}"), "rc:2:3: the template ghcr.io/${namespace}/${type} must use ${hostname} unless the patterns in include specify exactly one hostname"},
		{"a template without ${namespace}", mirror("ghcr.io/${hostname}/${type}"), "rc:2:3: the template ghcr.io/${hostname}/${type} must use ${namespace} unless the patterns in include specify exactly one namespace"},
		{"a template without ${type}", mirror("ghcr.io/${hostname}/${namespace}"), "rc:2:3: the template ghcr.io/${hostname}/${namespace} must use ${type} unless the patterns in include specify exactly one type"},
		{"two hosts", mirror("ghcr.io/${namespace}/${type}", "a.example/*/*", "b.example/*/*"), "must use ${hostname} unless the patterns in include specify exactly one hostname"},
		{"two namespaces", mirror("ghcr.io/${type}", "a/*", "b/x"), "must use ${namespace} unless the patterns in include specify exactly one namespace"},
		{"two types", mirror("ghcr.io/x", "a/x", "a/y"), "must use ${type} unless the patterns in include specify exactly one type"},
		{"no repository", mirror("ghcr.io", "a/b"), "rc:3:27: repository template \"ghcr.io\" for example.com/example-namespace/example-type"},
		{"a tag", mirror("ghcr.io/${hostname}/${namespace}/${type}:x"), "rc:3:27: repository template"},
		{"the other form of templates", mirror("ghcr.io/{hostname}/{namespace}/{type}"), "rc:3:27: variables must have the form ${…} in this file: ghcr.io/${hostname}/${namespace}/${type}"},
		{"an image layout", mirror("oci-layout:x/${hostname}/${namespace}/${type}"), "rc:3:27: the repositories of an oci_mirror must be in a registry"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			config, err := cliconfig.Parse("rc", []byte(test.data))
			var e *stricthcl.Error
			if !errors.As(err, &e) || !strings.Contains(e.Error(), test.want) {
				t.Errorf("got %v\nwant %s …", err, test.want)
			}
			if config.Installation != nil {
				t.Error("got an installation with an error")
			}
		})
	}
}

// mirror returns a block whose template is on line 3, column 27.
func mirror(template string, include ...string) string {
	list := ""
	if len(include) > 0 {
		list = "\n    include = [\"" + strings.Join(include, `", "`) + "\"]"
	}
	return "provider_installation {\n  oci_mirror {\n    repository_template = \"" + template + "\"" + list + "\n  }\n}"
}

func TestAllProblemsAreReported(t *testing.T) {
	t.Parallel()
	_, err := cliconfig.Parse("rc", []byte("host \"a_b\" {}\nprovider_installation {\n  x {}\n  y {}\n}\noci_credentials \"a\" {}"))
	if got := strings.Count(fmt.Sprint(err), "rc:"); got != 4 {
		t.Errorf("%d problems: %v", got, err)
	}
}

func TestMethodMatch(t *testing.T) {
	t.Parallel()
	a, err := provider.ParseAddress("hashicorp/aws")
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		include, exclude []string
		want             bool
		by               string
	}{
		{nil, nil, true, ""},
		{[]string{"a/*", "hashicorp/*"}, nil, true, "registry.opentofu.org/hashicorp/*"},
		{[]string{"a/*"}, nil, false, ""},
		{nil, []string{"hashicorp/aws"}, false, "registry.opentofu.org/hashicorp/aws"},
		{[]string{"hashicorp/aws"}, []string{"*/*/*"}, false, "*/*/*"},
		{nil, []string{"hashicorp/null"}, true, ""},
	} {
		m := cliconfig.Method{Include: parsePatterns(t, test.include), Exclude: parsePatterns(t, test.exclude)}
		if got, by := m.Match(a); got != test.want || by.String() != test.by {
			t.Errorf("include %v exclude %v: got %v by %q", test.include, test.exclude, got, by)
		}
	}
}

func TestMethodString(t *testing.T) {
	t.Parallel()
	config := parse(t, mirror("ghcr.io/${hostname}/${namespace}/${type}"))
	if got, want := config.Installation.Methods[0].String(), "oci_mirror ghcr.io/${hostname}/${namespace}/${type} (rc:2:3)"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := (cliconfig.Method{Kind: cliconfig.Direct}).String(); got != "direct" {
		t.Errorf("got %q", got)
	}
}
