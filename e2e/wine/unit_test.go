//go:build wine

package wine_test

import (
	"encoding/json"
	"errors"
	"io"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/tofu-oci/tofu-oci/internal/testing/patience"
)

// module is the prefix of all package paths.
const module = "github.com/tofu-oci/tofu-oci"

// scripts lists the scripts of cmd/tofu-oci that test paths, files, locks, and
// processes. The remaining scripts either start the program too often, which would take
// too long, or require Unix programs.
var scripts = []string{
	"litter", "locked", "mirror_check", "mirror_conflict", "mirror_rot", "publish_at_once", "publish_programs", "pull_network", "pull_trouble", "sources",
}

// TestUnit runs the unit tests and compares failed and skipped tests with known.txt. It
// reports unlisted tests that fail, and listed tests that pass or are missing.
//
// Wine itself fails occasionally, for example with "Internal error" when it starts a
// program. Therefore, TestUnit repeats the tests of packages with unexpected failures
// once.
func TestUnit(t *testing.T) {
	known := readKnown(t)
	run := func(packages []string) map[string]result {
		return runTestsOf(t, append([]string{"-skip", known.excluded()}, packages...)...)
	}
	seen := run(unitPackages(t, known))
	if again := known.unexpected(t, seen); len(again) > 0 {
		maps.DeleteFunc(seen, func(name string, _ result) bool { return slices.Contains(again, packageOf(name)) })
		maps.Copy(seen, run(again))
	}
	known.compare(t, seen)
}

// TestScripts runs the scripts. Every script must succeed.
func TestScripts(t *testing.T) {
	seen := runTestsOf(t, "-run", "^TestScripts$/^("+strings.Join(scripts, "|")+")$", "./cmd/tofu-oci")
	for _, name := range scripts {
		if r := seen["cmd/tofu-oci TestScripts/"+name]; r.action != "pass" {
			t.Errorf("%s: %q\n%s", name, r.action, r.output)
		}
	}
}

// runTestsOf runs go test and returns the tests' results.
func runTestsOf(t *testing.T, args ...string) map[string]result {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", append([]string{"test", "-json", "-timeout", patience.Limit.String(), "-overlay", world.overlay, "-exec", "wine"}, args...)...)
	cmd.Dir, cmd.Env, cmd.Stderr = world.root, world.environment, os.Stderr
	stdout, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	seen, err := readResults(stdout)
	// The results include failed tests.
	if ended := cmd.Wait(); err != nil || ended != nil && len(seen) == 0 {
		t.Fatal(errors.Join(err, ended))
	}
	return seen
}

// unitPackages returns the packages that have tests for Windows and are not excluded.
func unitPackages(t *testing.T, known known) []string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", "list", "-f", "{{if or .TestGoFiles .XTestGoFiles}}{{.ImportPath}}{{end}}", "./...")
	cmd.Dir, cmd.Env, cmd.Stderr = world.root, world.environment, os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	var packages []string
	for p := range strings.FieldsSeq(string(out)) {
		if !known.leaves(p) {
			packages = append(packages, p)
		}
	}
	return packages
}

// event is a line of go test -json.
type event struct{ Action, Package, Test, Output string }

// result is a test's last action and its output.
type result struct{ action, output string }

// readResults returns the results of tests and packages. The key of a test result has
// the form "PACKAGE TEST". The key of a package result is the package path.
func readResults(r io.Reader) (map[string]result, error) {
	results := map[string]result{}
	for d := json.NewDecoder(r); ; {
		var e event
		if err := d.Decode(&e); errors.Is(err, io.EOF) {
			return results, nil
		} else if err != nil {
			return nil, err
		}
		if e.Package == "" { // output of the compiler, which precedes the package's failure
			continue
		}
		name := shortPath(e.Package)
		if e.Test != "" {
			name += " " + e.Test
		}
		of := results[name]
		of.output += e.Output
		if e.Action == "pass" || e.Action == "fail" || e.Action == "skip" {
			of.action = e.Action
		}
		results[name] = of
	}
}
