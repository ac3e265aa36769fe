//go:build release

package release_test

import (
	"go/version"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestWorkflows: actionlint, with shellcheck for the scripts in them, has nothing to say.
func TestWorkflows(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("shellcheck"); err != nil {
		t.Error("shellcheck is not there, and actionlint needs it for scripts")
	}
	cmd := exec.CommandContext(t.Context(), programs.actionlint, workflows(t)...)
	cmd.Dir = programs.root
	if stdout, stderr, err := run(cmd); err != nil {
		t.Errorf("actionlint: %v\n%s%s", err, stdout, stderr)
	}
}

// TestScripts: shellcheck has nothing to say about the scripts that a release needs.
func TestScripts(t *testing.T) {
	t.Parallel()
	cmd := exec.CommandContext(t.Context(), "shellcheck", "install.sh", "build/assets.sh", "build/sbom.sh", ".ci/run")
	cmd.Dir = programs.root
	if stdout, stderr, err := run(cmd); err != nil {
		t.Errorf("shellcheck: %v\n%s%s", err, stdout, stderr)
	}
}

// used is an action of others as a step uses it; pinned is one that nobody can move.
var (
	used   = regexp.MustCompile(`(?m)^\s*(?:- )?uses: (.*)$`)
	pinned = regexp.MustCompile(`^[a-z-]+/[a-z-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$`)
)

// TestActionsArePinned: to commits, with the versions that those are; and one version of
// an action is one commit everywhere.
func TestActionsArePinned(t *testing.T) {
	t.Parallel()
	commits := map[string]string{}
	for _, path := range workflows(t) {
		for _, match := range used.FindAllStringSubmatch(read(t, programs.root, path), -1) {
			if !pinned.MatchString(match[1]) {
				t.Errorf("%s: %s is not pinned to a commit, or does not say its version", path, match[1])
			}
			action, commit, _ := strings.Cut(match[1], "@")
			if before, found := commits[action]; found && before != commit {
				t.Errorf("%s: %s is %s here and %s elsewhere", path, action, commit, before)
			}
			commits[action] = commit
		}
	}
	if len(commits) < 3 {
		t.Errorf("only %d actions found", len(commits))
	}
}

var (
	setsUp = regexp.MustCompile(`(?m)^ +go-version: (\S+)`)
	wants  = regexp.MustCompile(`(?m)^go (\S+)$`)
)

// TestGoVersion: workflows set up a version of Go that every module can be built with;
// setup-go fetches no other.
func TestGoVersion(t *testing.T) {
	t.Parallel()
	modules, err := filepath.Glob(filepath.Join(programs.root, "e2e", "tools", "*", "go.mod"))
	if err != nil || len(modules) < 5 {
		t.Fatalf("%d modules, %v", len(modules), err)
	}
	for _, path := range workflows(t) {
		for _, set := range setsUp.FindAllStringSubmatch(read(t, programs.root, path), -1) {
			for _, module := range modules {
				want := wants.FindStringSubmatch(read(t, module))
				if len(want) != 2 || version.Compare("go"+set[1], "go"+want[1]) < 0 {
					t.Errorf("%s sets up Go %s, and %s wants %v", path, set[1], filepath.Base(filepath.Dir(module)), want)
				}
			}
		}
	}
}

// workflows are the repository's own, relative to its root.
func workflows(t *testing.T) []string {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(programs.root, ".github", "workflows", "*.yml"))
	if err != nil || len(paths) < 2 {
		t.Fatalf("%d workflows, %v", len(paths), err)
	}
	for i, path := range paths {
		if paths[i], err = filepath.Rel(programs.root, path); err != nil {
			t.Fatal(err)
		}
	}
	return paths
}
