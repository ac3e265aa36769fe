package cliconfig_test

import (
	"maps"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tofu-oci/tofu-oci/internal/opentofu/cliconfig"
)

// FuzzRewrite checks that the result can be parsed. Hosts, tokens, and providers in
// development must be unchanged.
func FuzzRewrite(f *testing.F) {
	for _, text := range []string{
		"", "{}", "disable_checkpoint = true\n", `{"credentials": {"a.example": {"token": "t"}}}`,
		"host \"a.example\" {\n  services = {\n    \"providers.v1\" = \"https://a.example/${x}\"\n  }\n}\n",
		"credentials \"a.example\" {\n  token = <<T\nt\nT\n}\n", `{"unknown": [{"a": [1, 1.5e3, "b\t", {"c": null}]}]}`,
		"provider_installation {\n  dev_overrides {\n    \"a/b\" = \"/c\"\n  }\n  direct {\n    include = {}\n  }\n}\n",
		`{"provider_installation": [{"direct": [{"exclude": ["a/b"]}], "network_mirror": {"url": "https://a.example/"}}]}`,
		"unknown \"a\" \"b\" {\n  \"c d\" = -0x10\n}\n",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		path := filepath.Join(t.TempDir(), "config")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		env := cliconfig.Environment{OS: "linux"}
		files, err := cliconfig.Locate(env, path)
		if err != nil {
			t.Fatal(err)
		}
		before, err := cliconfig.Read(env, files)
		if err != nil {
			return
		}
		written, err := cliconfig.Rewrite(env, files, cliconfig.RewriteOptions{WorkDir: "/"})
		if err != nil {
			return // the text can't be written
		}
		after, err := cliconfig.Parse("written", written)
		if err != nil {
			t.Fatalf("%q is written so that it can't be read: %v\n%s", text, err, written)
		}
		if diff := cmp.Diff(before.Services, after.Services); diff != "" {
			t.Errorf("%q: %s", text, diff)
		}
		if !maps.Equal(before.Tokens, after.Tokens) {
			t.Errorf("%q: the tokens are others", text)
		}
		if before.Installation != nil && len(before.Installation.DevOverrides) != len(after.Installation.DevOverrides) {
			t.Errorf("%q: developed are %v", text, after.Installation.DevOverrides)
		}
	})
}
