package sbom_test

import (
	"bytes"
	"flag"
	"os"
	"runtime/debug"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/opencontainers/go-digest"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/tofu-oci/tofu-oci/internal/sbom"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

var update = flag.Bool("update", false, "write the expected documents")

func thing(t *testing.T) provider.Package {
	t.Helper()
	a, err := provider.ParseAddress("acme/thing")
	if err != nil {
		t.Fatal(err)
	}
	v, err := provider.ParseVersion("1.2.3")
	if err != nil {
		t.Fatal(err)
	}
	p := provider.Platform{OS: "haiku", Arch: "riscv64"}
	return provider.Package{Address: a, Version: v, Platform: p, Filename: provider.Filename(a, v, p), Digest: digest.FromString("zip")}
}

// cycloneDXSchema returns the official schema.
func cycloneDXSchema(t *testing.T) *jsonschema.Schema {
	t.Helper()
	const url = "http://cyclonedx.org/schema/"
	compiler := jsonschema.NewCompiler()
	compiler.AssertFormat()
	for _, name := range []string{"bom-1.6.schema.json", "jsf-0.82.schema.json", "spdx.schema.json"} {
		content, err := os.ReadFile("testdata/schema/" + name)
		if err != nil {
			t.Fatal(err)
		}
		document, err := jsonschema.UnmarshalJSON(bytes.NewReader(content))
		if err != nil {
			t.Fatal(err)
		}
		if err := compiler.AddResource(url+name, document); err != nil {
			t.Fatal(err)
		}
	}
	schema, err := compiler.Compile(url + "bom-1.6.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	return schema
}

// TestCycloneDX compares documents with the expected documents in testdata, and validates
// them against the official schema.
func TestCycloneDX(t *testing.T) {
	t.Parallel()
	schema := cycloneDXSchema(t)
	full := &debug.BuildInfo{
		GoVersion: "go1.26.0 X:loopvar", Path: "example.com/thing/cmd", Main: debug.Module{Path: "example.com/thing", Version: "(devel)"},
		Deps: []*debug.Module{
			{Path: "github.com/Masterminds/semver/v3", Version: "v3.2.1", Sum: "h1:a="},
			{Path: "example.com/old", Version: "v1.0.0", Replace: &debug.Module{Path: "example.com/fork", Version: "v1.0.1", Sum: "h1:b="}},
			{Path: "example.com/patched", Version: "v2.0.0+incompatible", Replace: &debug.Module{Path: "../patched"}},
			{Path: "example.com/a b?c#d@e/%2e", Version: "v1.0.0+incompatible"},
			{Path: "github.com/Masterminds/semver/v3", Version: "v3.2.1"},
			{Path: "example.com/long", Version: "v1" + strings.Repeat(".0", 600)},
			{Path: "stdlib", Version: "1.26.0"},
		},
		Settings: []debug.BuildSetting{{Key: "-ldflags", Value: "-s -w <&>"}, {Key: "vcs.revision", Value: "abc"}, {Key: "vcs.modified", Value: "\xffinvalid"}},
	}
	for name, test := range map[string]struct {
		executable string
		info       *debug.BuildInfo
	}{
		"full": {"terraform-provider-thing_v1.2.3", full}, "unknown": {"terraform-provider-thing", nil}, "no-executable": {"", nil},
		"no-modules": {"terraform-provider-thing", &debug.BuildInfo{GoVersion: "devel go1.27-abc Mon"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := sbom.CycloneDX(thing(t), test.executable, test.info)
			if err != nil {
				t.Fatal(err)
			}
			file := "testdata/" + name + ".cdx.json"
			if *update {
				if err := os.WriteFile(file, got, 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), string(got)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			document, err := jsonschema.UnmarshalJSON(bytes.NewReader(got))
			if err != nil {
				t.Fatal(err)
			}
			if err := schema.Validate(document); err != nil {
				t.Errorf("the document violates the schema: %v\n%s", err, got)
			}
			if schema.Validate(map[string]any{"bomFormat": "CycloneDX", "specVersion": "1.6", "unknown": true}) == nil {
				t.Error("the schema accepts unknown fields")
			}
		})
	}
}
