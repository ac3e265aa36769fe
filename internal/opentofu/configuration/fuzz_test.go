package configuration_test

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/tools/txtar"

	"github.com/tofu-oci/tofu-oci/internal/opentofu/configuration"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// FuzzLoad reads arbitrary files. It checks that Load returns, and that the result is
// consistent.
func FuzzLoad(f *testing.F) {
	paths, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(paths) == 0 {
		f.Fatalf("no seeds: %v", err)
	}
	for _, path := range paths {
		archive, err := txtar.ParseFile(path)
		if err != nil {
			f.Fatal(err)
		}
		for _, file := range archive.Files {
			f.Add(file.Data, strings.HasSuffix(file.Name, ".json"))
		}
	}
	f.Fuzz(func(t *testing.T, data []byte, json bool) {
		name := "main.tf"
		if json {
			name = "main.tf.json"
		}
		dir := t.TempDir()
		write(t, filepath.Join(dir, name), string(data))
		start := time.Now()
		c, err := configuration.Load(t.Context(), dir, configuration.Options{})
		if d := time.Since(start); d > 20*time.Second {
			t.Errorf("%d bytes took %s", len(data), d)
		}
		if err != nil && (len(c.Required) > 0 || strings.TrimSpace(err.Error()) == "") {
			t.Errorf("got %v and the error %q", c, err)
		}
		for _, r := range c.Required {
			again, err := provider.ParseRequirement(r.String())
			if err != nil || again.String() != r.String() {
				t.Errorf("%s: the second read returned %s, %v", r, again, err)
			}
		}
	})
}
