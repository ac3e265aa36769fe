package cliconfig_test

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/hcl"

	"github.com/tofu-oci/tofu-oci/internal/opentofu/cliconfig"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/template"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// attributes parses a block in the same way as OpenTofu. It maps names such as
// "oci_mirror.include" to values.
func attributes(t *testing.T, text string) map[string]any {
	t.Helper()
	var file map[string]any
	if err := hcl.Decode(&file, text); err != nil {
		t.Fatalf("parsing the result: %v\n%s", err, text)
	}
	found := map[string]any{}
	for _, installation := range file["provider_installation"].([]map[string]any) {
		for method, blocks := range installation {
			for _, block := range blocks.([]map[string]any) {
				for name, value := range block {
					found[method+"."+name] = value
				}
			}
		}
	}
	return found
}

func TestMirrorBlock(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, template string
		patterns       []string
		// hcl and include are the values that OpenTofu should read.
		hcl     string
		include []string
	}{
		{
			"default host", "ghcr.io/acme/{namespace}/{type}", nil,
			"ghcr.io/acme/${namespace}/${type}", []string{"registry.opentofu.org/*/*"},
		},
		{
			"every host", "ghcr.io/acme/${hostname}/${namespace}/${type}", nil,
			"ghcr.io/acme/${hostname}/${namespace}/${type}", []string{"*/*/*"},
		},
		{
			"patterns", "localhost:5000/{hostname}/{namespace}-{type}", []string{"HashiCorp/*", "bücher.example/a/b"},
			"localhost:5000/${hostname}/${namespace}-${type}", []string{"registry.opentofu.org/hashicorp/*", "bücher.example/a/b"},
		},
		{
			"no variables", "ghcr.io/acme/null", []string{"hashicorp/null"},
			"ghcr.io/acme/null", []string{"registry.opentofu.org/hashicorp/null"},
		},
		{
			"quotes in interpolations", `ghcr.io/${namespace}/${type == "aws" ? "\"amazon" : type}`, nil,
			`ghcr.io/${namespace}/${type == "aws" ? "\"amazon" : type}`, []string{"registry.opentofu.org/*/*"},
		},
		{
			"quotes in directives", `ghcr.io/%{ if type == "aws" }x%{ endif }${namespace}/${type}`, nil,
			`ghcr.io/%{ if type == "aws" }x%{ endif }${namespace}/${type}`, []string{"registry.opentofu.org/*/*"},
		},
		{
			"a brace in quotes", `ghcr.io/${namespace}/${type == "}" ? "x" : type}`, nil,
			`ghcr.io/${namespace}/${type == "}" ? "x" : type}`, []string{"registry.opentofu.org/*/*"},
		},
		{
			"line break in a directive", "ghcr.io/%{ if type == \"aws\"\n}x%{ endif }${namespace}/${type}", nil,
			"ghcr.io/%{ if type == \"aws\"\n}x%{ endif }${namespace}/${type}", []string{"registry.opentofu.org/*/*"},
		},
		{
			"escapes", `ghcr.io/%{ if type == "$${a}\\" }x%{ endif }${namespace}/${type}`, nil,
			`ghcr.io/%{ if type == "$${a}\\" }x%{ endif }${namespace}/${type}`, []string{"registry.opentofu.org/*/*"},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			got, err := cliconfig.MirrorBlock(parseTemplate(t, test.template), parsePatterns(t, test.patterns))
			if err != nil {
				t.Fatal(err)
			}
			golden(t, strings.ReplaceAll(test.name, " ", "_")+".tofurc", got)
			// Direct installation must exclude the mirror's providers. Otherwise, a
			// version that only the origin registry has would break the installation.
			want := map[string]any{
				"oci_mirror.repository_template": test.hcl, "oci_mirror.include": anys(test.include), "direct.exclude": anys(test.include),
			}
			if diff := cmp.Diff(want, attributes(t, got)); diff != "" {
				t.Errorf("OpenTofu reads something else (-want +got):\n%s", diff)
			}
			parsePatterns(t, test.include)
			if _, err := cliconfig.Parse("tofurc", []byte(got)); err != nil {
				t.Errorf("parsing the block: %v", err)
			}
		})
	}
}

func TestMirrorBlockRefuses(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, template string
		patterns       []string
		want           string
	}{
		{"an image layout", "oci-layout:mirror/{namespace}/{type}", nil, "OpenTofu can install only from registries, not from oci-layout:mirror/{namespace}/{type}"},
		{"no variables and no patterns", "ghcr.io/acme/x", nil, "does not distinguish namespaces and types"},
		{"no namespace and no patterns", "ghcr.io/{hostname}/{type}", nil, "does not distinguish namespaces and types"},
		{"no type and no patterns", "ghcr.io/{namespace}", nil, "does not distinguish namespaces and types"},
		{"no type for a wildcard", "ghcr.io/{namespace}", []string{"hashicorp/*"}, "does not contain ${type}, but the pattern registry.opentofu.org/hashicorp/* has a wildcard for this part"},
		{"no namespace for a wildcard", "ghcr.io/{type}", []string{"*/*"}, "does not contain ${namespace}, but the pattern registry.opentofu.org/*/* has a wildcard for this part"},
		{"no host for a wildcard", "ghcr.io/{namespace}/{type}", []string{"*/*/*"}, "does not contain ${hostname}, but the pattern */*/* has a wildcard for this part"},
		{"several hosts", "ghcr.io/{namespace}/{type}", []string{"a.example/b/c", "d.example/b/c"}, "does not contain ${hostname}, but the patterns differ in that part"},
		{"several types", "ghcr.io/x", []string{"a/b", "a/c"}, "does not contain ${type}, but the patterns differ in that part"},
		{"never a valid repository", `ghcr.io/${namespace}/${type}\x`, nil, "OpenTofu would reject the template"},
		{"one of several patterns", "ghcr.io/{type}", []string{"hashicorp/*", "*/*"}, "the pattern registry.opentofu.org/*/* has a wildcard for this part"},
		{"more braces in quotes than HCL 1 can count", `ghcr.io/${namespace}/${type == "{" ? "x" : type}`, nil, "its braces must be balanced"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			got, err := cliconfig.MirrorBlock(parseTemplate(t, test.template), parsePatterns(t, test.patterns))
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want … %s …", err, test.want)
			}
			if got != "" {
				t.Errorf("got a block with an error:\n%s", got)
			}
		})
	}
}

func anys(texts []string) []any {
	values := make([]any, len(texts))
	for i, text := range texts {
		values[i] = text
	}
	return values
}

func parseTemplate(t *testing.T, text string) template.Template {
	t.Helper()
	parsed, err := template.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return parsed
}

func parsePatterns(t *testing.T, texts []string) []provider.Pattern {
	t.Helper()
	var patterns []provider.Pattern
	for _, text := range texts {
		p, err := provider.ParsePattern(text)
		if err != nil {
			t.Fatal(err)
		}
		patterns = append(patterns, p)
	}
	return patterns
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", "mirror", name)
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", name, diff)
	}
}

func TestNetworkMirrorBlock(t *testing.T) {
	t.Parallel()
	p, err := provider.ParsePattern("bücher.example/acme/*")
	if err != nil {
		t.Fatal(err)
	}
	for _, url := range []string{"https://tofu.example.com/mirror/", `https://tofu.example.com/"a\b/mirror/`} {
		got := attributes(t, cliconfig.NetworkMirrorBlock(url, p))
		want := map[string]any{
			"network_mirror.url": url, "network_mirror.include": []any{p.String()}, "direct.exclude": []any{p.String()},
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("-want +got:\n%s", diff)
		}
	}
}
