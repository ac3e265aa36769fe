//go:build wine

package wine_test

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// known contains the entries of known.txt, in which a comment explains each block.
// "PACKAGE TEST" is a test that fails. "PACKAGE -" and "PACKAGE TEST -" are packages
// and tests that do not run.
type known map[string]bool

func readKnown(t *testing.T) known {
	t.Helper()
	text, err := os.ReadFile("known.txt")
	if err != nil {
		t.Fatal(err)
	}
	k, reason := known{}, false
	for line := range strings.Lines(string(text)) {
		switch line = strings.TrimSpace(line); {
		case line == "":
			reason = false
		case strings.HasPrefix(line, "# "):
			reason = true
		case !reason:
			t.Errorf("known.txt: %s has no reason above it", line)
		case k[line]:
			t.Errorf("known.txt: duplicate line %s", line)
		default:
			k[line] = true
		}
	}
	return k
}

// leaves reports whether a package's tests are excluded.
func (k known) leaves(path string) bool { return k[shortPath(path)+" -"] }

// excluded returns a regular expression that matches the excluded tests of all packages.
func (k known) excluded() string {
	var names []string
	for _, line := range slices.Sorted(maps.Keys(k)) {
		if words := strings.Fields(line); len(words) == 3 {
			names = append(names, words[1])
		}
	}
	return "^(" + strings.Join(names, "|") + ")$"
}

// testExists reports whether a package, or a test "PACKAGE TEST", exists.
func testExists(t *testing.T, name string) bool {
	t.Helper()
	dir, test, _ := strings.Cut(name, " ")
	files, err := filepath.Glob(filepath.Join(world.root, dir, "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	return slices.ContainsFunc(files, func(path string) bool {
		text, err := os.ReadFile(path)
		return err == nil && strings.Contains(string(text), "func "+test)
	})
}

// shortPath returns a package's path in the form that known.txt uses. "." is the
// module's root.
func shortPath(path string) string {
	if short := strings.TrimPrefix(strings.TrimPrefix(path, module), "/"); short != "" {
		return short
	}
	return "."
}

// packageOf returns the package path in a result's name.
func packageOf(name string) string {
	short, _, _ := strings.Cut(name, " ")
	return module + "/" + short
}

// failed reports whether a test or a package failed unexpectedly.
func (k known) failed(name string, seen map[string]result) bool {
	return seen[name].action != "pass" && !k[name] && !hasFailedPart(name, seen)
}

// unexpected returns and logs the packages with unexpected failures.
func (k known) unexpected(t *testing.T, seen map[string]result) (packages []string) {
	t.Helper()
	for _, name := range slices.Sorted(maps.Keys(seen)) {
		if k.failed(name, seen) {
			t.Logf("%s: %q, and is run again\n%s", name, seen[name].action, seen[name].output)
			packages = append(packages, packageOf(name))
		}
	}
	return slices.Compact(packages)
}

// compare reports all differences between the results and known.txt.
func (k known) compare(t *testing.T, seen map[string]result) {
	t.Helper()
	passed := 0
	for _, name := range slices.Sorted(maps.Keys(seen)) {
		switch r := seen[name]; {
		case r.action == "pass":
			passed++
		case k.failed(name, seen):
			t.Errorf("%s: %q, but known.txt does not list it\n%s", name, r.action, r.output)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(k)) {
		if left, is := strings.CutSuffix(name, " -"); is {
			if !testExists(t, left) {
				t.Errorf("known.txt: %s does not exist; remove it", left)
			}
		} else if r, ok := seen[name]; !ok || r.action == "pass" {
			t.Errorf("known.txt: %s passes or does not exist; remove it", name)
		}
	}
	t.Logf("%d tests and packages passed; known.txt has %d lines", passed, len(k))
}

// hasFailedPart reports whether a test or package failed because of a test or subtest
// that known.txt lists separately.
func hasFailedPart(name string, seen map[string]result) bool {
	for other, r := range seen {
		within := strings.HasPrefix(other, name+" ") || strings.Contains(name, " ") && strings.HasPrefix(other, name+"/")
		if within && r.action == "fail" {
			return true
		}
	}
	return false
}
