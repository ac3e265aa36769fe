package tofuoci_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// Names of tests in docs/security.md.
var (
	namedTest   = regexp.MustCompile("`([a-z0-9/-]+) ((?:Test|Fuzz)[A-Za-z0-9]+)`")
	namedScript = regexp.MustCompile("`([a-z_]+\\.txtar)`")
)

// TestSecurityPage checks that all tests in docs/security.md exist, that each
// guarantee has a test, and that no guarantee is repeated.
func TestSecurityPage(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile(filepath.Join("docs", "security.md"))
	if err != nil {
		t.Fatal(err)
	}
	found, rows := 0, map[string]bool{}
	for line := range strings.Lines(strings.ReplaceAll(string(page), "\n  ", " ")) { // items can have several lines
		tests, scripts := namedTest.FindAllStringSubmatch(line, -1), namedScript.FindAllStringSubmatch(line, -1)
		isRow := strings.HasPrefix(line, "- ") || strings.HasPrefix(line, "| ") && !strings.HasSuffix(strings.TrimSpace(line), "tests |")
		if isRow && len(tests)+len(scripts) == 0 {
			t.Errorf("guarantee without a test: %s", line)
		}
		if subject, _, _ := strings.Cut(strings.TrimLeft(line, "|- "), " | "); isRow && rows[subject] {
			t.Errorf("duplicate guarantee: %s", subject)
		} else if isRow {
			rows[subject] = true
		}
		found += len(tests) + len(scripts)
		for _, m := range tests {
			if !hasTest(t, filepath.FromSlash(m[1]), m[2]) {
				t.Errorf("%s has no %s", m[1], m[2])
			}
		}
		for _, m := range scripts {
			if _, err := os.Stat(filepath.Join("cmd", "tofu-oci", "testdata", "script", m[1])); err != nil {
				t.Error(err)
			}
		}
	}
	if found == 0 {
		t.Error("docs/security.md names no tests")
	}
}

func hasTest(t *testing.T, dir, name string) bool {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(text), "\nfunc "+name+"(") {
			return true
		}
	}
	return false
}
