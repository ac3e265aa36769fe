//go:build release

package release_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestManual checks that mandoc accepts and displays the manual pages, and that man
// finds the pages.
func TestManual(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	output(t, exec.CommandContext(t.Context(), programs.tofuOCI, "man", "--dir", filepath.Join(dir, "man1")))
	pages, err := filepath.Glob(filepath.Join(dir, "man1", "*.1"))
	if err != nil || len(pages) < 15 {
		t.Fatalf("%d pages, %v", len(pages), err)
	}
	lint := exec.CommandContext(t.Context(), "mandoc", append([]string{"-Tlint"}, pages...)...)
	lint.Dir = filepath.Dir(pages[0]) // required for references between pages
	if complaints, _, err := run(lint); err != nil || complaints != "" {
		t.Errorf("mandoc -Tlint: %v\n%s", err, complaints)
	}
	for _, page := range pages {
		shown := output(t, exec.CommandContext(t.Context(), "mandoc", "-Tascii", page))
		if name := strings.TrimSuffix(filepath.Base(page), ".1"); !strings.Contains(shown, strings.ToUpper(name)+"(1)") || strings.Contains(shown, `\`+"e") {
			t.Errorf("%s:\n%s", name, shown)
		}
	}
	found := output(t, manual(t, dir, "-w", "tofu-oci-mirror"))
	if strings.TrimSpace(found) != filepath.Join(dir, "man1", "tofu-oci-mirror.1") {
		t.Errorf("unexpected result of man: %q", found)
	}
}

// flagGroup matches the heading of a group of flags in the help.
var flagGroup = regexp.MustCompile(`\n\n[A-Z][a-z]+:\n`)

// TestExamplesInTheManual checks that examples copied from a rendered page are
// identical to the examples in the help, including hyphens, quotes, and backslashes.
func TestExamplesInTheManual(t *testing.T) {
	t.Parallel()
	for _, command := range []string{"mirror", "publish", "pull", "tofurc"} {
		help := output(t, exec.CommandContext(t.Context(), programs.tofuOCI, command, "--help"))
		page := filepath.Join(t.TempDir(), "page.1")
		write(t, page, output(t, exec.CommandContext(t.Context(), programs.tofuOCI, "man", command)))
		shown := strings.Split(output(t, exec.CommandContext(t.Context(), "mandoc", "-Tutf8", "-Owidth=200", page)), "\n")
		for i := range shown {
			shown[i] = strings.TrimSpace(shown[i])
		}
		_, examples, _ := strings.Cut(help, "\nExamples:\n")
		examples = flagGroup.Split(examples, 2)[0]
		lines := 0
		for line := range strings.Lines(examples) {
			if line = strings.TrimSpace(line); line != "" {
				lines++
				if !slices.Contains(shown, line) {
					t.Errorf("the page of %s does not have the line %q", command, line)
				}
			}
		}
		if lines < 3 {
			t.Errorf("%s: only %d lines of examples", command, lines)
		}
	}
}

// manual returns a man command that searches only one directory.
func manual(t *testing.T, dir string, args ...string) *exec.Cmd {
	t.Helper()
	for _, name := range []string{"mman", "man"} { // mman is Debian's name for the man of mandoc
		if path, err := exec.LookPath(name); err == nil {
			cmd := exec.CommandContext(t.Context(), path, args...)
			cmd.Env = append(os.Environ(), "MANPATH="+dir, "PAGER=cat")
			return cmd
		}
	}
	t.Fatal("man is not installed")
	return nil
}
