//go:build unix

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"syscall"
	"time"
)

// usage is the resource usage of a program and its children. Peak is the peak memory of
// the largest process, in bytes. Network, the number of bytes that a counting link
// transferred, is not written to the file.
type usage struct {
	Wall, CPU time.Duration
	Peak      int64
	Network   int64 `json:"-"`
}

// measureCommand is the first argument that makes this program measure a command in a
// new process. A separate process is necessary because the kernel counts the parent's
// memory at the time of the fork toward a child's peak memory, and this program needs
// much memory for its servers.
const measureCommand = "measure"

// measure runs a program and writes its usage to a file. It returns the exit code of
// the program.
func measure(file string, args []string) int {
	cmd := exec.CommandContext(context.Background(), args[0], args[1:]...)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	began := time.Now()
	err := cmd.Run()
	wall := time.Since(began)
	var failed *exec.ExitError
	if err != nil && !errors.As(err, &failed) {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	counted, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage)
	if !ok {
		fmt.Fprintln(os.Stderr, "the resource usage is unavailable on this system")
		return 1
	}
	peak := counted.Maxrss
	if runtime.GOOS != "darwin" {
		peak <<= 10 // kibibytes
	}
	text, err := json.Marshal(usage{Wall: wall, CPU: cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime(), Peak: peak})
	if err == nil {
		err = os.WriteFile(file, text, 0o600)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return cmd.ProcessState.ExitCode()
}

// command is a program to measure.
type command struct {
	args []string
	// dir is the working directory.
	dir string
	// environ is the complete environment.
	environ []string
	// stdout is the file for the output.
	stdout string
}

// run measures the command, which must succeed. If ctx is canceled, run kills the
// command and its children.
func (c command) run(ctx context.Context) (took usage, err error) {
	self, err := os.Executable()
	if err != nil {
		return took, err
	}
	logs, err := os.MkdirTemp("", "peers-usage-*")
	if err != nil {
		return took, err
	}
	defer func() { _ = os.RemoveAll(logs) }()
	stdout, err := os.Create(c.stdout)
	if err != nil {
		return took, err
	}
	defer stdout.Close()
	stderr, err := os.Create(filepath.Join(logs, "stderr"))
	if err != nil {
		return took, err
	}
	defer stderr.Close()
	counted := filepath.Join(logs, "usage")
	cmd := exec.CommandContext(ctx, self, append([]string{measureCommand, counted}, c.args...)...)
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = c.dir, c.environ, stdout, stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	if err := cmd.Run(); err != nil {
		out, _ := os.ReadFile(stderr.Name())
		return took, fmt.Errorf("%s: %w\n%s", filepath.Base(c.args[0]), err, out)
	}
	text, err := os.ReadFile(counted)
	if err != nil {
		return took, err
	}
	err = json.Unmarshal(text, &took)
	return took, err
}
