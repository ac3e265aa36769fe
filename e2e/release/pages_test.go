//go:build release

package release_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestPages: actionlint has nothing to say about the workflows that pages have, nor
// goreleaser about the configuration in docs/goreleaser.md.
func TestPages(t *testing.T) {
	t.Parallel()
	pages, err := filepath.Glob(filepath.Join(programs.root, "docs", "*.md"))
	if err != nil {
		t.Fatal(err)
	}
	// goreleaser asks git where the project is.
	project := t.TempDir()
	for _, args := range [][]string{{"init", "--quiet"}, {"remote", "add", "origin", "https://github.com/acme/terraform-provider-widget"}} {
		cmd := exec.CommandContext(t.Context(), "git", args...)
		cmd.Dir = project
		if _, stderr, err := run(cmd); err != nil {
			t.Fatalf("%v: %v\n%s", cmd.Args, err, stderr)
		}
	}
	workflows, configurations := 0, 0
	for _, page := range pages {
		text := read(t, filepath.Dir(page), filepath.Base(page))
		for _, block := range strings.Split(text, "\n```yaml\n")[1:] {
			block, _, _ = strings.Cut(block, "\n```\n")
			block += "\n"
			file := filepath.Join(t.TempDir(), "block.yml")
			if err := os.WriteFile(file, []byte(block), 0o600); err != nil {
				t.Fatal(err)
			}
			cmd := exec.CommandContext(t.Context(), programs.goreleaser, "check", file)
			switch {
			case strings.Contains(block, "\njobs:\n") && strings.Contains(block, "runs-on:"):
				// SC1083 is about the braces of a template, which every shell leaves alone.
				cmd = exec.CommandContext(t.Context(), programs.actionlint, "-ignore", "SC1083", file)
				workflows++
			case strings.HasPrefix(block, "version: 2\nbuilds:"):
				configurations++
			default:
				continue
			}
			cmd.Dir = project
			if stdout, stderr, err := run(cmd); err != nil {
				t.Errorf("%s: %v: %v\n%s%s\n%s", filepath.Base(page), cmd.Args, err, stdout, stderr, block)
			}
		}
	}
	if workflows < 5 || configurations != 1 {
		t.Errorf("%d workflows and %d configurations were found", workflows, configurations)
	}
}
