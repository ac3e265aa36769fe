//go:build unix

package e2e_test

import (
	"bufio"
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/tofu-oci/tofu-oci/e2e/fixture"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// TestExecReturnsExitCode runs commands in an initialized directory and checks the
// commands' output, input, and exit codes.
func TestExecReturnsExitCode(t *testing.T) {
	t.Parallel()
	m := newTimeMirror(t, provider.DefaultHost.String())
	j := m.job(t, t.TempDir())
	output(t, j.exec(t, programs.tofu, "init", "-input=false", "-no-color"))
	for name, test := range map[string]struct {
		args []string
		code int
	}{
		"a plan with changes":         {[]string{programs.tofu, "plan", "-input=false", "-detailed-exitcode"}, 2},
		"a command that tofu has not": {[]string{programs.tofu, "nonsense"}, 1},
		"a code of its own":           {[]string{"sh", "-c", "exit 77"}, 77},
		"killed":                      {[]string{"sh", "-c", "kill -KILL $$"}, 128 + int(syscall.SIGKILL)},
		"terminated":                  {[]string{"sh", "-c", "kill -TERM $$"}, 128 + int(syscall.SIGTERM)},
		"no such program":             {[]string{"there-is-no-such-program"}, 127},
		"no such file":                {[]string{filepath.Join(t.TempDir(), "tofu")}, 127},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cmd := j.exec(t, test.args...)
			if out, _ := cmd.CombinedOutput(); cmd.ProcessState.ExitCode() != test.code {
				t.Errorf("exit code %d, want %d: %s", cmd.ProcessState.ExitCode(), test.code, out)
			}
		})
	}
}

// TestExecRemovesConfiguration checks that only the owner can read the temporary
// configuration, and that exec removes the file afterward.
func TestExecRemovesConfiguration(t *testing.T) {
	t.Parallel()
	m := newTimeMirror(t, provider.DefaultHost.String())
	j := m.job(t, t.TempDir())
	temporary := t.TempDir()
	cmd := j.exec(t, "sh", "-c", `cat; echo "$TF_CLI_CONFIG_FILE"; ls -l "$TF_CLI_CONFIG_FILE" | cut -c 1-10; cat "$TF_CLI_CONFIG_FILE"; echo out >&2`)
	cmd.Env = append(cmd.Env, "TMPDIR="+temporary)
	cmd.Stdin = strings.NewReader("typed\n")
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		t.Fatalf("%v\n%s%s", err, &stdout, &stderr)
	}
	lines := strings.SplitN(stdout.String(), "\n", 4)
	if len(lines) < 4 || lines[0] != "typed" || lines[2] != "-rw-------" || !strings.Contains(lines[3], "filesystem_mirror") {
		t.Fatalf("unexpected output of the child process:\n%s", &stdout)
	}
	if !strings.HasSuffix(stderr.String(), "out\n") {
		t.Errorf("stderr is %q", &stderr)
	}
	if _, err := os.Stat(lines[1]); err == nil {
		t.Errorf("%s still exists", lines[1])
	}
	if left, err := os.ReadDir(temporary); err != nil || len(left) > 0 {
		t.Errorf("left in the temporary directory: %v, %v", left, err)
	}
}

// TestExecChdir checks that exec uses the lock file in the directory that -chdir
// specifies.
func TestExecChdir(t *testing.T) {
	t.Parallel()
	m := newTimeMirror(t, terraformHost)
	for name, chdir := range map[string]string{"relative": "live/here", "absolute": ""} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			j := job{m, t.TempDir(), t.TempDir()}
			below := filepath.Join(j.dir, "live", "here")
			write(t, filepath.Join(below, "main.tf"), mainTF)
			if chdir == "" {
				chdir = below
			}
			output(t, j.exec(t, programs.terraform, "-chdir="+chdir, "init", "-input=false", "-no-color"))
			output(t, j.exec(t, programs.terraform, "-chdir="+chdir, "apply", "-input=false", "-no-color", "-auto-approve"))
			readLock(t, below)
			if _, err := os.Stat(filepath.Join(j.dir, ".terraform.lock.hcl")); err == nil {
				t.Error("a lock file exists next to the configuration's directory")
			}
		})
	}
}

const sleeping = `terraform {
  required_providers {
    time = { source = "hashicorp/time", version = "` + fixture.TimeVersion + `" }
  }
}
resource "time_sleep" "long" { create_duration = "1000h" }
`

// underWay is the message that tofu prints when the provider has worked for ten
// seconds. When tofu prints its first message about the operation, the provider cannot
// be stopped yet.
const underWay = "Still creating..."

// TestExecForwardsSignals interrupts tofu during an apply, and checks that tofu shuts
// down cleanly and saves its state.
func TestExecForwardsSignals(t *testing.T) {
	t.Parallel()
	m := newTimeMirror(t, provider.DefaultHost.String())
	for name, signal := range map[string]os.Signal{"interrupt": os.Interrupt, "terminate": syscall.SIGTERM} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			j := m.job(t, t.TempDir())
			write(t, filepath.Join(j.dir, "main.tf"), sleeping)
			output(t, j.exec(t, programs.tofu, "init", "-input=false", "-no-color"))
			out := interrupt(t, j.exec(t, programs.tofu, "apply", "-input=false", "-no-color", "-auto-approve"), signal, underWay)
			if !strings.Contains(out, "Interrupt received") || strings.Contains(out, "Two interrupts") {
				t.Errorf("tofu was not interrupted once:\n%s", out)
			}
			if _, err := os.Stat(filepath.Join(j.dir, "terraform.tfstate")); err != nil {
				t.Error(err)
			}
			if _, err := os.Stat(filepath.Join(j.dir, ".terraform.tfstate.lock.info")); err == nil {
				t.Error("the state is still locked")
			}
		})
	}
}

// interrupt waits until a command has printed the text in when, and then sends a
// signal. It returns all output. Like tofu, the command must exit with code 1.
func interrupt(t *testing.T, cmd *exec.Cmd, signal os.Signal, when string) (out string) {
	t.Helper()
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stderr = cmd.Stdout
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	sent := false
	for lines := bufio.NewScanner(stdout); lines.Scan(); {
		out += lines.Text() + "\n"
		if !sent && strings.Contains(lines.Text(), when) {
			sent = true
			if err := cmd.Process.Signal(signal); err != nil {
				t.Error(err)
			}
		}
	}
	_ = cmd.Wait()
	if code := cmd.ProcessState.ExitCode(); code != 1 {
		t.Errorf("exit code %d, want 1:\n%s", code, out)
	}
	return out
}
