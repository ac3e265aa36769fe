//go:build release

package release_test

import (
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v4"
)

// action is the content of an action.yml.
// https://docs.github.com/en/actions/reference/workflows-and-actions/metadata-syntax
type action struct {
	Name, Description string
	Branding          map[string]string
	Inputs            map[string]struct {
		Description, Default string
		Required             bool
	}
	Outputs map[string]struct{ Description, Value string }
	Runs    struct {
		Using string
		Steps []step
	}
}

type step struct {
	Name, ID, If, Uses, Shell, Run string
	With, Env                      map[string]string
}

// actions lists the names of this repository's actions.
var actions = []string{"setup", "mirror", "publish", "lock-check"}

func readAction(t *testing.T, name string) (a action) {
	t.Helper()
	decoder := yaml.NewDecoder(strings.NewReader(read(t, programs.root, "action", name, "action.yml")))
	decoder.KnownFields(true)
	if err := decoder.Decode(&a); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return a
}

// runner emulates GitHub's runner for composite actions with bash: it evaluates
// expressions, runs scripts, and reads their outputs.
type runner struct {
	os, arch, workspace, temp, tools string
	// env is the environment that scripts receive in addition to the runner's own
	// variables. PATH is first.
	env []string
	// cached maps the keys of actions/cache to directories with the cached files.
	cached map[string]string
}

func newRunner(t *testing.T) *runner {
	t.Helper()
	return &runner{os: "Linux", arch: "X64", workspace: t.TempDir(), temp: t.TempDir(), tools: t.TempDir(), cached: map[string]string{}}
}

// outcome is the result of a run of an action.
type outcome struct {
	code               int
	outputs            map[string]string
	log, path, summary string
}

// use runs an action with the given inputs.
func (r *runner) use(t *testing.T, name string, with map[string]string) (u outcome) {
	t.Helper()
	a := readAction(t, name)
	values := map[string]string{"github.token": "the job's token"}
	for input, of := range a.Inputs {
		values["inputs."+input] = evaluate(t, of.Default, values)
	}
	for input, value := range with {
		if _, known := a.Inputs[input]; !known {
			t.Fatalf("%s has no input %s", name, input)
		}
		values["inputs."+input] = value
	}
	after := map[string]string{}
	for _, s := range a.Runs.Steps {
		if u.code != 0 || !holds(t, s.If, values) {
			continue
		}
		if s.Uses != "" {
			r.restore(t, s, values, after)
			continue
		}
		r.step(t, name, s, values, &u)
	}
	for key, path := range after {
		r.save(t, key, path)
	}
	u.outputs = map[string]string{}
	for output, of := range a.Outputs {
		u.outputs[output] = evaluate(t, of.Value, values)
	}
	return u
}

// step runs a step's script and reads the step's outputs.
func (r *runner) step(t *testing.T, name string, s step, values map[string]string, u *outcome) {
	t.Helper()
	dir := t.TempDir()
	files := map[string]string{}
	cmd := r.command(t, "bash", "--noprofile", "--norc", "-e", "-o", "pipefail", filepath.Join(dir, "script"))
	cmd.Env = append(cmd.Env, "RUNNER_OS="+r.os, "RUNNER_ARCH="+r.arch, "RUNNER_TEMP="+r.temp, "RUNNER_TOOL_CACHE="+r.tools,
		"GITHUB_ACTIONS=true", "GITHUB_WORKSPACE="+r.workspace, "GITHUB_ACTION_PATH="+filepath.Join(programs.root, "action", name))
	for _, file := range []string{"GITHUB_OUTPUT", "GITHUB_PATH", "GITHUB_STEP_SUMMARY"} {
		files[file] = filepath.Join(dir, file)
		write(t, files[file], "")
		cmd.Env = append(cmd.Env, file+"="+files[file])
	}
	for variable, value := range s.Env {
		cmd.Env = append(cmd.Env, variable+"="+evaluate(t, value, values))
	}
	write(t, filepath.Join(dir, "script"), evaluate(t, s.Run, nil))
	stdout, stderr, err := run(cmd)
	if err != nil && cmd.ProcessState == nil {
		t.Fatal(err)
	}
	u.code = cmd.ProcessState.ExitCode()
	u.log += stdout + stderr
	u.path += read(t, files["GITHUB_PATH"])
	u.summary += read(t, files["GITHUB_STEP_SUMMARY"])
	for output, value := range outputsIn(t, read(t, files["GITHUB_OUTPUT"])) {
		values["steps."+s.ID+".outputs."+output] = value
	}
}

// command returns a command that runs in the workspace.
func (r *runner) command(t *testing.T, program string, args ...string) *exec.Cmd {
	t.Helper()
	path := program
	for _, dir := range filepath.SplitList(strings.TrimPrefix(r.env[0], "PATH=")) {
		if _, err := os.Stat(filepath.Join(dir, program)); err == nil {
			path = filepath.Join(dir, program)
			break
		}
	}
	cmd := exec.CommandContext(t.Context(), path, args...)
	cmd.Dir, cmd.Env = r.workspace, slices.Clone(r.env)
	return cmd
}

var (
	expression = regexp.MustCompile(`\$\{\{\s*(.*?)\s*\}\}`)
	compared   = regexp.MustCompile(`^(\S+) == '([^']*)'$`)
	// ofStep matches references to a step's outputs. If the step did not set an output,
	// its value is empty.
	ofStep = regexp.MustCompile(`^steps\.[a-z]+\.outputs\.[a-z-]+$`)
)

// evaluate replaces expressions with their values. An unknown expression is an error.
func evaluate(t *testing.T, text string, values map[string]string) string {
	t.Helper()
	return expression.ReplaceAllStringFunc(text, func(found string) string {
		name := expression.FindStringSubmatch(found)[1]
		value, known := values[name]
		if !known && (values == nil || !ofStep.MatchString(name)) {
			t.Errorf("unknown expression %s", found)
		}
		return value
	})
}

func holds(t *testing.T, condition string, values map[string]string) bool {
	t.Helper()
	if condition == "" {
		return true
	}
	parts := compared.FindStringSubmatch(condition)
	if parts == nil {
		t.Fatalf("unknown condition %q", condition)
	}
	return evaluate(t, "${{ "+parts[1]+" }}", values) == parts[2]
}

// outputsIn parses a step's output file.
// https://docs.github.com/en/actions/reference/workflows-and-actions/workflow-commands#multiline-strings
func outputsIn(t *testing.T, text string) map[string]string {
	t.Helper()
	outputs := map[string]string{}
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	for i := 0; text != "" && i < len(lines); i++ {
		name, end, multiline := strings.Cut(lines[i], "<<")
		if !multiline {
			t.Fatalf("the output %q has no delimiter", lines[i])
		}
		var value []string
		for i++; i < len(lines) && lines[i] != end; i++ {
			value = append(value, lines[i])
		}
		if i == len(lines) {
			t.Fatalf("the output %s does not end in\n%s", name, text)
		}
		outputs[name] = strings.Join(value, "\n")
	}
	return outputs
}

// restore emulates actions/cache: it restores the cached files. If no files are cached,
// it records in after the path that the post step saves.
func (r *runner) restore(t *testing.T, s step, values, after map[string]string) {
	t.Helper()
	if action, _, _ := strings.Cut(s.Uses, "@"); action != "actions/cache" {
		t.Fatalf("unknown action %s", s.Uses)
	}
	with := maps.Clone(s.With)
	for name, value := range with {
		with[name] = evaluate(t, value, values)
	}
	if kept, hit := r.cached[with["key"]]; hit {
		if err := os.CopyFS(with["path"], os.DirFS(kept)); err != nil {
			t.Fatal(err)
		}
		return
	}
	after[with["key"]] = with["path"]
}

func (r *runner) save(t *testing.T, key, path string) {
	t.Helper()
	if _, err := os.Stat(path); err != nil {
		return // actions/cache only warns if the path does not exist
	}
	r.cached[key] = t.TempDir()
	if err := os.CopyFS(r.cached[key], os.DirFS(path)); err != nil {
		t.Fatal(err)
	}
}

func (u outcome) String() string {
	return fmt.Sprintf("exit code %d\noutputs %v\npath %s\nsummary %s\n%s", u.code, u.outputs, u.path, u.summary, u.log)
}
