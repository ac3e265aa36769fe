package configuration_test

import (
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/tofu-oci/tofu-oci/internal/opentofu/configuration"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// FuzzLoad reads arbitrary files. It checks that the work of Load is limited, and that
// the result is consistent.
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
		before := allocated()
		c, err := configuration.Load(t.Context(), dir, configuration.Options{})
		if n := allocated() - before; n > maxAllocated {
			t.Errorf("%d bytes required %d bytes of memory", len(data), n)
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

// maxAllocated is the maximum number of bytes that parsing a document allocates in total.
// Parsers allocate whenever they read, join, or copy tokens, so this number limits their
// work. The limits of stricthcl allow 1 GiB for joining literals and 200 MiB for tokens.
const maxAllocated = 4 << 30

// allocated returns the number of bytes that the program has allocated so far.
func allocated() uint64 {
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return stats.TotalAlloc
}
