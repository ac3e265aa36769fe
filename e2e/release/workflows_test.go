//go:build release

package release_test

import (
	"fmt"
	"go/version"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v4"
)

// TestWorkflows runs actionlint on the workflows, with shellcheck for their scripts.
func TestWorkflows(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("shellcheck"); err != nil {
		t.Error("shellcheck is not installed, but actionlint requires it for scripts")
	}
	cmd := exec.CommandContext(t.Context(), programs.actionlint, append(workflows(t), files(t, 1, examples[1:]...)...)...)
	cmd.Dir = programs.root
	if stdout, stderr, err := run(cmd); err != nil {
		t.Errorf("actionlint: %v\n%s%s", err, stdout, stderr)
	}
}

// TestScripts runs shellcheck on the scripts for releases, actions, and gates.
func TestScripts(t *testing.T) {
	t.Parallel()
	args := []string{"--external-sources", "install.sh", "build/assets.sh", "build/sbom.sh", ".ci/run", ".ci/phases", ".ci/affected"}
	cmd := exec.CommandContext(t.Context(), "shellcheck", append(args, files(t, 9, "action/*.sh", "action/*/*.sh", "docs/examples/*.sh", "site/*.sh")...)...)
	cmd.Dir = programs.root
	if stdout, stderr, err := run(cmd); err != nil {
		t.Errorf("shellcheck: %v\n%s%s", err, stdout, stderr)
	}
}

// examples contains patterns of files that users copy or call. Only the files that match
// the first pattern are not workflows.
var examples = []string{"action/*/*.yml", "deploy/github/*.yml", "templates/starter/.github/workflows/*.yml"}

// TestScriptsHaveNoExpressions checks that scripts receive untrusted values through the
// environment. The text of a script must not contain expressions.
func TestScriptsHaveNoExpressions(t *testing.T) {
	t.Parallel()
	scripts := 0
	for _, path := range append(workflows(t), files(t, 9, examples...)...) {
		var workflow any
		if err := yaml.Unmarshal([]byte(read(t, programs.root, path)), &workflow); err != nil {
			t.Fatal(err)
		}
		for _, script := range scriptsIn(workflow) {
			if scripts++; strings.Contains(script, "${{") {
				t.Errorf("%s: the script contains an expression\n%s", path, script)
			}
		}
	}
	if scripts < 15 {
		t.Errorf("found only %d scripts", scripts)
	}
}

// scriptsIn returns the scripts in all steps of a workflow or an action.
func scriptsIn(node any) (scripts []string) {
	switch value := node.(type) {
	case []any:
		for _, one := range value {
			scripts = append(scripts, scriptsIn(one)...)
		}
	case map[string]any:
		for key, one := range value {
			if script, is := one.(string); is && key == "run" {
				scripts = append(scripts, script)
			}
			scripts = append(scripts, scriptsIn(one)...)
		}
	}
	return scripts
}

// used matches a third-party action in a step. pinned matches a third-party action that
// is pinned to a commit.
var (
	used   = regexp.MustCompile(`(?m)^\s*(?:- )?uses: (.*)$`)
	pinned = regexp.MustCompile(`^[a-z-]+/[a-z-]+(/[a-z-]+)?@[0-9a-f]{40} # v\d+\.\d+\.\d+$`)
	local  = regexp.MustCompile(`^\./(action/[a-z-]+|\.github/workflows/[a-z]+\.yml)$`)
	// ours matches references to this repository's actions from different repositories.
	ours = regexp.MustCompile(`tofu-oci/tofu-oci/(action/[a-z-]+)@v\d+\.\d+\.\d+`)
)

// TestActionsArePinned checks that every action is pinned to a commit, with the version
// in a comment, and that all references to an action use the same commit. Examples can
// refer to a release of this repository's actions instead.
func TestActionsArePinned(t *testing.T) {
	t.Parallel()
	commits := map[string]string{}
	for _, path := range append(workflows(t), files(t, 9, examples...)...) {
		for _, match := range used.FindAllStringSubmatch(read(t, programs.root, path), -1) {
			if local.MatchString(match[1]) || (filepath.Base(path) == "example.yml" || strings.HasPrefix(path, "deploy/") || strings.HasPrefix(path, "templates/")) && ours.FindString(match[1]) == match[1] {
				continue
			}
			if !pinned.MatchString(match[1]) {
				t.Errorf("%s: %s is not pinned to a commit, or has no version comment", path, match[1])
			}
			action, commit, _ := strings.Cut(match[1], "@")
			if before, found := commits[action]; found && before != commit {
				t.Errorf("%s: %s is pinned to %s, but elsewhere to %s", path, action, commit, before)
			}
			commits[action] = commit
		}
	}
	if len(commits) < 3 {
		t.Errorf("found only %d actions", len(commits))
	}
}

var (
	setsUp = regexp.MustCompile(`(?m)^ +go-version: (\S+)`)
	wants  = regexp.MustCompile(`(?m)^go (\S+)$`)
)

// TestGoVersion checks that workflows set up a Go version that can build every module,
// because setup-go must not download a second version.
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
					t.Errorf("%s sets up Go %s, but %s requires %v", path, set[1], filepath.Base(filepath.Dir(module)), want)
				}
			}
		}
	}
}

// TestPhases checks that the jobs of a workflow together run all phases of a make target.
func TestPhases(t *testing.T) {
	t.Parallel()
	for file, target := range map[string]string{"ci.yml": "check-phases", "nightly.yml": "nightly-phases"} {
		var workflow struct {
			Jobs map[string]struct {
				Strategy struct{ Matrix struct{ Phases []string } }
				Steps    []step
			}
		}
		if err := yaml.Unmarshal([]byte(read(t, programs.root, ".github", "workflows", file)), &workflow); err != nil {
			t.Fatal(err)
		}
		var run []string
		for _, job := range workflow.Jobs {
			run = append(run, strings.Fields(strings.Join(job.Strategy.Matrix.Phases, " "))...)
			for _, s := range job.Steps {
				if _, parts, found := strings.Cut(s.Run, ".ci/affected "); found {
					parts, _, _ = strings.Cut(parts, " |")
					run = append(run, strings.Fields(parts)...)
				}
			}
		}
		cmd := exec.CommandContext(t.Context(), "make", "--no-print-directory", target)
		cmd.Dir = programs.root
		// Without a commit to compare with, all phases run. MAKEFLAGS can select phases.
		cmd.Env = append(os.Environ(), "BASE=none", "MAKEFLAGS=")
		want := strings.Fields(output(t, cmd))
		slices.Sort(run)
		slices.Sort(want)
		if diff := cmp.Diff(want, run); diff != "" {
			t.Errorf("%s runs different phases than make %s prints (-make +workflow):\n%s", file, target, diff)
		}
	}
}

// TestReleaseOrder checks that the tags that users follow are moved after the
// attestation. It also checks that a separate job compares its own build with the
// release before it updates the package managers.
func TestReleaseOrder(t *testing.T) {
	t.Parallel()
	var workflow struct {
		Jobs map[string]struct {
			Needs string
			Steps []step
		}
	}
	if err := yaml.Unmarshal([]byte(read(t, programs.root, ".github", "workflows", "release.yml")), &workflow); err != nil {
		t.Fatal(err)
	}
	for job, order := range map[string][]string{
		"release":  {"goreleaser release --clean\n", "subject-checksums:dist/SHA256SUMS", "subject-digest:${{ steps.image.outputs.digest }}", "imagetools create --tag", "--draft=false"},
		"packages": {"--skip=publish,docker", `diff "$RUNNER_TEMP/$list" "dist/$list"`, "secrets.PACKAGES_TOKEN"},
	} {
		var all strings.Builder
		for _, s := range workflow.Jobs[job].Steps {
			fmt.Fprintln(&all, s.Run, s.With, s.Env)
		}
		rest := all.String()
		for _, part := range order {
			_, after, found := strings.Cut(rest, part)
			if rest = after; !found {
				t.Fatalf("%s: %q is missing, or not in the order %q:\n%s", job, part, order, all.String())
			}
		}
		if has := strings.Contains(all.String(), "secrets."); has != (job == "packages") {
			t.Errorf("%s: unexpected access to secrets of package managers: %v", job, has)
		}
	}
	if needs := workflow.Jobs["packages"].Needs; needs != "release" {
		t.Errorf("unexpected dependencies of the job packages: %q", needs)
	}
	var config struct {
		Images []struct{ Tags []string } `yaml:"dockers_v2"`
	}
	if err := yaml.Unmarshal([]byte(read(t, programs.root, ".goreleaser.yaml")), &config); err != nil || len(config.Images) != 1 || strings.Join(config.Images[0].Tags, " ") != "{{ .Version }}" {
		t.Errorf("%v: unexpected images %v", err, config.Images)
	}
}

// workflows returns the paths of this repository's workflows, relative to the
// repository's root.
func workflows(t *testing.T) []string {
	t.Helper()
	return files(t, 3, ".github/workflows/*.yml")
}

// files returns the paths of the repository's files that match patterns, relative to
// the repository's root.
func files(t *testing.T, atLeast int, patterns ...string) (paths []string) {
	t.Helper()
	for _, pattern := range patterns {
		found, err := fs.Glob(os.DirFS(programs.root), pattern)
		if err != nil {
			t.Fatal(err)
		}
		paths = append(paths, found...)
	}
	if len(paths) < atLeast {
		t.Fatalf("%v are %v", patterns, paths)
	}
	return paths
}
