package configuration_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	"github.com/tofu-oci/tofu-oci/internal/opentofu/configuration"
)

var update = flag.Bool("update", false, "update the golden files in testdata")

// TestLoad reads the directories in testdata. In each directory, the file "want"
// contains the expected requirements or errors.
func TestLoad(t *testing.T) {
	t.Parallel()
	paths, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(paths) < 20 {
		t.Fatalf("got %d directories, %v", len(paths), err)
	}
	for _, path := range paths {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txtar"), func(t *testing.T) {
			t.Parallel()
			archive, err := txtar.ParseFile(path)
			if err != nil {
				t.Fatal(err)
			}
			dir := t.TempDir()
			last := len(archive.Files) - 1
			for _, f := range archive.Files[:last] {
				write(t, filepath.Join(dir, filepath.FromSlash(f.Name)), string(f.Data))
			}
			want, got := string(archive.Files[last].Data), describe(dir, configuration.Options{})
			if *update {
				archive.Files[last].Data = []byte(got)
				write(t, path, string(txtar.Format(archive)))
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// describe formats the requirements of a directory without the directory's path.
func describe(dir string, o configuration.Options) string {
	var b strings.Builder
	c, err := configuration.Load(context.Background(), dir, o)
	if err != nil {
		fmt.Fprintln(&b, err)
	}
	for _, r := range c.Required {
		fmt.Fprintf(&b, "%s\n", strings.TrimSpace(r.Address.String()+" "+r.Constraint.String()))
	}
	for _, call := range c.Unread {
		fmt.Fprintf(&b, "not read: %s\n", call)
	}
	text := strings.ReplaceAll(b.String(), dir+string(filepath.Separator), "")
	return filepath.ToSlash(strings.ReplaceAll(text, dir, "."))
}

func write(tb testing.TB, path, text string) {
	tb.Helper()
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o600)); err != nil {
		tb.Fatal(err)
	}
}
