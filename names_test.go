package tofuoci_test

import (
	"io/fs"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tofu-oci/tofu-oci/internal/text"
)

// TestNamesOfFiles checks that all file names are valid on Windows, which reserves names
// for devices, rejects some characters, and ignores case.
func TestNamesOfFiles(t *testing.T) {
	t.Parallel()
	lower := map[string]string{}
	for _, root := range []string{"cmd", "deploy", "docs", "e2e", "internal", "pkg", "testdata"} {
		err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			name := entry.Name()
			if name == "node_modules" { // installed by npm in e2e/browser
				return fs.SkipDir
			}
			if text.IsDeviceName(name) || strings.ContainsAny(name, `\:*?"<>|`) || strings.TrimRight(name, ". ") != name {
				t.Errorf("%s: Windows has no file of that name", path)
			}
			if other, ok := lower[strings.ToLower(path)]; ok {
				t.Errorf("%s and %s are one on Windows", other, path)
			}
			lower[strings.ToLower(path)] = path
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}
