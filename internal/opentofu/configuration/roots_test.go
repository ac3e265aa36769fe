package configuration_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tofu-oci/tofu-oci/internal/opentofu/configuration"
)

// TestRoots finds the root modules in a tree of directories.
func TestRoots(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, text := range map[string]string{
		"live/a/main.tf":                   "module \"m\" {\n  source = \"../../modules/m\"\n}\n",
		"live/b/main.tofu":                 "module \"k\" {\n  source = \"../../modules/kept\"\n}\n",
		"live/json/main.tf.json":           `{"module": {"j": {"source": "./inner"}}}`,
		"live/json/inner/main.tf":          "",
		"live/bad/main.tf":                 "module {\n",
		"live/none/README.md":              "",
		"live/none/deeper/override.tf":     "",
		"live/a/.terraform/m/main.tf":      "",
		"live/a/data/m/main.tf":            "",
		"modules/m/main.tf":                "module \"n\" {\n  source = \"./nested\"\n}\n",
		"modules/m/nested/main.tf":         "",
		"modules/m/examples/one/main.tf":   "module \"m\" {\n  source = \"../..\"\n}\n",
		"modules/kept/main.tf":             "",
		"modules/remote/main.tf":           "module \"far\" {\n  source = \"acme/far/aws\"\n}\n",
		"modules/kept/.terraform.lock.hcl": "",
		"modules/itself/main.tf":           "module \"x\" {\n  source = \"./\"\n}\n",
	} {
		write(t, filepath.Join(dir, filepath.FromSlash(name)), text)
	}
	if runtime.GOOS != "windows" { // creating a link requires a privilege on Windows
		if err := os.Symlink("live", filepath.Join(dir, "linked")); err != nil {
			t.Fatal(err)
		}
	}
	live := []string{"live/a", "live/b", "live/bad", "live/json", "live/none/deeper"}
	for name, test := range map[string]struct {
		dirs    []string
		options configuration.Options
		want    []string
	}{
		"all":                    {[]string{"."}, configuration.Options{DataDir: "data"}, append(live, "modules/kept", "modules/m/examples/one", "modules/remote")},
		"some directories twice": {[]string{"live", "live/json", "live"}, configuration.Options{DataDir: "data"}, live},
		"only the modules":       {[]string{"modules"}, configuration.Options{}, []string{"modules/kept", "modules/m/examples/one", "modules/remote"}},
		"as Terraform":           {[]string{"live/b", "live/none"}, configuration.Options{Terraform: true}, []string{"live/none/deeper"}},
		"none":                   {[]string{"live/none/deeper/none"}, configuration.Options{}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var dirs []string
			for _, d := range test.dirs {
				dirs = append(dirs, filepath.Join(dir, filepath.FromSlash(d)))
			}
			found, err := configuration.Roots(t.Context(), test.options, dirs...)
			if (err != nil) != (test.want == nil) {
				t.Fatal(err)
			}
			var got []string
			for _, path := range found {
				got = append(got, filepath.ToSlash(strings.TrimPrefix(path, dir+string(filepath.Separator))))
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
	t.Run("a link as an argument", func(t *testing.T) {
		t.Parallel()
		if runtime.GOOS == "windows" {
			return
		}
		found, err := configuration.Roots(t.Context(), configuration.Options{DataDir: "data"}, filepath.Join(dir, "linked"))
		if err != nil || len(found) != len(live) || found[0] != filepath.Join(dir, "linked", "a") {
			t.Errorf("got %v, %v", found, err)
		}
	})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := configuration.Roots(ctx, configuration.Options{}, dir); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}
