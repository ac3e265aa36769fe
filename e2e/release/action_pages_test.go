//go:build release

package release_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v4"
)

// TestActionMetadata checks that each action defines the metadata that GitHub shows,
// that its scripts are files without expressions, and that the action's page lists all
// inputs and outputs.
func TestActionMetadata(t *testing.T) {
	t.Parallel()
	for _, name := range actions {
		a := readAction(t, name)
		if a.Name == "" || a.Description == "" || a.Runs.Using != "composite" || len(a.Inputs) == 0 || len(a.Outputs) == 0 {
			t.Errorf("%s: %+v", name, a)
		}
		for _, s := range a.Runs.Steps {
			if s.Uses == "" && (s.Shell != "bash" || !regexp.MustCompile(`^bash "\$GITHUB_ACTION_PATH/[a-z]+\.sh"$`).MatchString(s.Run)) {
				t.Errorf("%s: the step %s runs %q with %q", name, s.Name, s.Run, s.Shell)
			}
		}
		page := read(t, programs.root, "action", name, "README.md")
		for input, of := range a.Inputs {
			value := ""
			switch {
			case of.Required:
				value = "**required**"
			case of.Default != "":
				value = "`" + of.Default + "`"
			}
			if row := fmt.Sprintf("| %#q | %s | %s |\n", input, value, of.Description); !strings.Contains(page, row) || of.Description == "" {
				t.Errorf("action/%s/README.md does not contain\n%s", name, row)
			}
		}
		for output, of := range a.Outputs {
			if row := fmt.Sprintf("| %#q | %s |\n", output, of.Description); !strings.Contains(page, row) || of.Description == "" {
				t.Errorf("action/%s/README.md does not contain\n%s", name, row)
			}
		}
		if rows := strings.Count(page, "\n| `"); rows != len(a.Inputs)+len(a.Outputs) {
			t.Errorf("action/%s/README.md has %d rows for %d inputs and %d outputs", name, rows, len(a.Inputs), len(a.Outputs))
		}
	}
}

// TestPublishExampleSigns checks that the example signs all digests, even if an
// interrupted job runs again and finds no changes.
func TestPublishExampleSigns(t *testing.T) {
	t.Parallel()
	var example struct {
		Jobs map[string]struct{ Steps []step }
	}
	if err := yaml.Unmarshal([]byte(read(t, programs.root, "action", "publish", "example.yml")), &example); err != nil {
		t.Fatal(err)
	}
	steps := example.Jobs["publish"].Steps
	last := steps[len(steps)-1]
	if last.If != "steps.publish.outputs.digests != ''" || last.Env["DIGEST"] != "${{ steps.publish.outputs.digests }}" || !strings.HasPrefix(last.Run, "cosign sign ") {
		t.Errorf("unexpected last step %+v", last)
	}
}

// TestActionExamples runs actionlint on the examples, and checks that the examples set
// only inputs that the actions define.
func TestActionExamples(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.CopyFS(filepath.Join(dir, "action"), os.DirFS(filepath.Join(programs.root, "action"))); err != nil {
		t.Fatal(err)
	}
	output(t, exec.CommandContext(t.Context(), "git", "init", "-q", dir))
	lint := func(name, text string) error {
		path := filepath.Join(".github", "workflows", name+".yml")
		write(t, filepath.Join(dir, path), ours.ReplaceAllString(text, "./$1"))
		cmd := exec.CommandContext(t.Context(), programs.actionlint, path)
		cmd.Dir = dir
		stdout, stderr, err := run(cmd)
		if err != nil {
			err = fmt.Errorf("%w\n%s%s", err, stdout, stderr)
		}
		return err
	}
	_, page, _ := strings.Cut(read(t, programs.root, "docs", "ci.md"), "```yaml\non:")
	page, _, _ = strings.Cut(page, "```")
	if err := lint("page", "on:"+page); err != nil || !ours.MatchString(page) {
		t.Errorf("docs/ci.md: %v", err)
	}
	for _, name := range actions {
		text := read(t, programs.root, "action", name, "example.yml")
		if err := lint(name, text); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if uses := ours.FindAllString(text, -1); !slices.ContainsFunc(uses, func(use string) bool { return strings.Contains(use, "action/"+name+"@") }) {
			t.Errorf("unexpected actions in the example of %s: %v", name, uses)
		}
		wrong := regexp.MustCompile(`(action/setup@v1\.2\.3\n\s+with:\n\s+)version:`).ReplaceAllString(text, "${1}of-a-version:")
		if err := lint("wrong", wrong); err == nil || !strings.Contains(err.Error(), `input "of-a-version" is not defined`) {
			t.Errorf("%s: an unknown input is not reported: %v", name, err)
		}
	}
}
