package extprog_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tofu-oci/tofu-oci/internal/extprog"
	"github.com/tofu-oci/tofu-oci/internal/testing/patience"
)

// self returns the quoted path of the test program.
func self(tb testing.TB) string {
	tb.Helper()
	path, err := os.Executable()
	if err != nil {
		tb.Fatal(err)
	}
	return quoted(path)
}

// run runs the test program as a helper.
func run(t *testing.T, as string, call extprog.Call, args ...string) (string, error) {
	t.Helper()
	call.Env = append(call.Env, actAs(as)...)
	if call.Timeout == 0 {
		call.Timeout = patience.Limit
	}
	out, err := parse(t, self(t)+" "+quoted(args...)).Run(t.Context(), call)
	return string(out), err
}

func TestRunSendsStdin(t *testing.T) {
	t.Parallel()
	huge := `{"a":"` + strings.Repeat("huge ", 1<<20) + `"}`
	tests := []struct {
		test string
		call extprog.Call
		want string
	}{
		{"huge", extprog.Call{Stdin: []byte(huge)}, huge},
		{"stdin", extprog.Call{Stdin: []byte(" {\"a\" :\t[1]}\r\n")}, " {\"a\" :\t[1]}\r\n"},
		{"nothing", extprog.Call{MayBeSilent: true}, ""},
		{"empty stdin", extprog.Call{Stdin: []byte{}, MayBeSilent: true}, ""},
	}
	for _, test := range tests {
		t.Run(test.test, func(t *testing.T) {
			t.Parallel()
			got, err := run(t, "echo", test.call)
			if err != nil {
				t.Fatal(err)
			}
			if got != test.want {
				t.Errorf("%.200q came back, want %.200q", got, test.want)
			}
		})
	}
}

func TestRunWithUnreadStdin(t *testing.T) {
	t.Parallel()
	got, err := run(t, "deaf", extprog.Call{Stdin: []byte(strings.Repeat("huge ", 1<<20))})
	if err != nil || got != "{}" {
		t.Errorf("%q, %v", got, err)
	}
}

// call is the output of the helper "args".
type call struct {
	Args              []string
	Dir, Stdin, Added string
}

func TestRunFillsPlaceholders(t *testing.T) {
	t.Parallel()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	out, err := run(t, "args", extprog.Call{
		Replace: map[string]string{"zip": `a "b" 'c' $d {name}`, "name": "n", "empty": ""},
		Dir:     dir,
		Env:     []string{"EXTPROG_TEST_ADDED=value"},
	}, "{zip}", "--file={zip}:{name}", "{empty}", "-o", "json={}", "{{name}}", "{", "{{.Other}}", "{other", "}{name}{")
	if err != nil {
		t.Fatal(err)
	}
	var got call
	if err := json.Unmarshal([]byte(out), &got); err != nil {
		t.Fatal(err)
	}
	want := call{
		Args: []string{
			`a "b" 'c' $d {name}`, `--file=a "b" 'c' $d {name}:n`, "", "-o", "json={}", "{n}", "{", "{{.Other}}", "{other", "}n{",
		},
		Dir:   dir,
		Added: "value",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("wrong call of the program (-want +got):\n%s", diff)
	}
}

func TestParsePlaceholders(t *testing.T) {
	t.Parallel()
	for line, problem := range map[string]string{
		"scan {zip} -o x":            "",
		"scan '{0}' {} {\"a\":1} {}": "",
		"scan {zap}":                 "did you mean {zip}?",
		"scan file:{bin}":            "did you mean {binary}?",
		"scan {sbom}":                "unknown placeholder {sbom}; valid placeholders are {zip}, {binary}",
		"scan '":                     "not closed",
	} {
		_, err := extprog.Parse(line, "zip", "binary")
		if problem == "" && err != nil || problem != "" && (err == nil || !strings.Contains(err.Error(), problem)) {
			t.Errorf("%s: %v, want %q", line, err, problem)
		}
	}
}

func TestRunChecksOutput(t *testing.T) {
	t.Parallel()
	tests := []struct {
		output    string
		silent    bool // value of MayBeSilent
		want      string
		problem   string
		beginning string
	}{
		{output: "\n { \"a\": {} } \n", want: "\n { \"a\": {} } \n"},
		{output: "{}", silent: true, want: "{}"},
		{output: "", silent: true},
		{output: " \n", silent: true},
		{output: "", problem: "printed nothing"},
		{output: " \n", problem: "printed nothing"},
		{output: "[{}]", problem: "output is not a JSON object", beginning: "[{}]"},
		{output: "null", problem: "output is not a JSON object", beginning: "null"},
		{output: `"a"`, silent: true, problem: "output is not a JSON object", beginning: `"a"`},
		{output: "done\x1b[0m\n{}", problem: "output is not a JSON object", beginning: "done [0m {}"},
		{output: "{}\n{}", problem: "single JSON object (unexpected '{'", beginning: "{} {}"},
		{output: "{} done", problem: "single JSON object (unexpected 'd'", beginning: "{} done"},
		{output: `{"a":`, problem: "single JSON object (unexpected end of JSON", beginning: `{"a":`},
		{output: "{'a'}", problem: "single JSON object (unexpected '\\''", beginning: "{'a'}"},
		{output: strings.Repeat("long", 100), problem: "output is not a JSON object", beginning: strings.Repeat("long", 50)},
	}
	for _, test := range tests {
		got, err := run(t, "print", extprog.Call{MayBeSilent: test.silent}, test.output)
		if got != test.want {
			t.Errorf("%q: got %q, want %q", test.output, got, test.want)
		}
		if test.problem == "" {
			if err != nil {
				t.Errorf("%q: %v", test.output, err)
			}
			continue
		}
		begins := test.beginning == "" || strings.HasSuffix(err.Error(), fmt.Sprintf("; the output begins with %q", test.beginning))
		if !extprog.IsFailure(err, extprog.WrongOutput) || !strings.Contains(err.Error(), test.problem) || !begins {
			t.Errorf("%q: %v, want %q and %q", test.output, err, test.problem, test.beginning)
		}
	}
}

func TestRunReportsFailure(t *testing.T) {
	t.Parallel()
	secret := extprog.Call{
		Stdin: []byte(`{"password":"hunter2"}`),
		Env:   []string{"EXTPROG_TEST_ADDED=hunter2"},
	}
	out, err := run(t, "fail", secret, "--token=hunter2")
	exit, ok := errors.AsType[*extprog.Error](err)
	if !ok || exit.Failure != extprog.Exited {
		t.Fatalf("%q, %v, want that it exited", out, err)
	}
	text := err.Error()
	if !strings.Contains(text, "exit status 3: ") || !strings.HasSuffix(text, "before [31mno such zip") {
		t.Errorf("error %q", text)
	}
	if len(exit.Stderr) < 1<<10 || len(exit.Stderr) > 2<<10 {
		t.Errorf("got %d bytes of stderr", len(exit.Stderr))
	}
	if !strings.HasPrefix(text, "running "+parse(t, self(t)).Name()+": ") || strings.Contains(text, "hunter2") {
		t.Errorf("error %q, want one with the program's name and no secret", text)
	}
}

func TestRunFindsTheProgram(t *testing.T) {
	t.Parallel()
	if _, err := parse(t, "no-such-program-anywhere").Run(t.Context(), extprog.Call{}); !errors.Is(err, exec.ErrNotFound) || !strings.Contains(err.Error(), "no-such-program-anywhere") {
		t.Errorf("error %v, want exec.ErrNotFound and the name", err)
	}
	missing := filepath.Join(t.TempDir(), "missing")
	if _, err := parse(t, quoted(missing)).Run(t.Context(), extprog.Call{}); err == nil {
		t.Error("a missing file was run")
	}
	if _, err := (extprog.Program{}).Run(t.Context(), extprog.Call{}); err == nil {
		t.Error("no program was run")
	}
}

// TestRunFindsRelativePaths checks that a relative path is resolved against the current
// directory, and not against the call's directory.
func TestRunFindsRelativePaths(t *testing.T) {
	t.Parallel()
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	relative, err := filepath.Rel(here, path)
	if err != nil {
		return // on Windows, the test program can be on a different drive
	}
	call := extprog.Call{Dir: t.TempDir(), Env: actAs("deaf"), Timeout: patience.Limit}
	if out, err := parse(t, quoted(relative)).Run(t.Context(), call); err != nil || string(out) != "{}" {
		t.Errorf("%q, %v", out, err)
	}
}

func TestRunLimits(t *testing.T) {
	t.Parallel()
	tests := []struct {
		test, as string
		call     extprog.Call
		want     string
	}{
		{"time", "hang", extprog.Call{Timeout: 50 * time.Millisecond}, "more than 50ms"},
		{"no time at all", "hang", extprog.Call{Timeout: time.Nanosecond}, "more than 1ns"},
		{"endless output", "flood", extprog.Call{MaxOutput: 1 << 20}, "more than 1048576 bytes"},
		{"one byte too many", "deaf", extprog.Call{MaxOutput: 1}, "more than 1 bytes"},
	}
	for _, test := range tests {
		t.Run(test.test, func(t *testing.T) {
			t.Parallel()
			out, err := run(t, test.as, test.call)
			if !extprog.IsFailure(err, extprog.OverLimit) || !strings.Contains(err.Error(), test.want) {
				t.Errorf("%.200q, %v, want an error with %q", out, err, test.want)
			}
		})
	}
	if out, err := run(t, "deaf", extprog.Call{MaxOutput: len("{}")}); err != nil || out != "{}" {
		t.Errorf("output as long as the limit: %q, %v", out, err)
	}
}
