package e2e_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// measureCommand is the first argument that makes this program measure a command in a
// new process. A separate process is necessary because the kernel counts the parent's
// memory at the time of the fork toward a child's peak memory, and the tests need much
// memory for their servers.
const measureCommand = "measure"

// measure runs a program and writes its resource usage to a file. It returns the exit
// code of the program.
func measure(file string, args []string) int {
	cmd := exec.CommandContext(context.Background(), args[0], args[1:]...)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	if err := cmd.Run(); cmd.ProcessState == nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	text, err := json.Marshal(cmd.ProcessState.SysUsage())
	if err == nil {
		err = os.WriteFile(file, text, 0o600)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return cmd.ProcessState.ExitCode()
}

// peak runs a program and returns its peak memory in bytes, its output, and its error.
// It works only on Linux.
func peak(tb testing.TB, cmd *exec.Cmd) (most int64, text string, err error) {
	tb.Helper()
	self, err := os.Executable()
	if err != nil {
		tb.Fatal(err)
	}
	file := filepath.Join(tb.TempDir(), "usage")
	measured := exec.CommandContext(tb.Context(), self, append([]string{measureCommand, file}, cmd.Args...)...)
	measured.Dir, measured.Env = cmd.Dir, cmd.Env
	out, err := measured.CombinedOutput()
	var usage struct{ Maxrss int64 } // kibibytes
	if counted, failed := os.ReadFile(file); failed != nil || json.Unmarshal(counted, &usage) != nil || usage.Maxrss == 0 {
		tb.Fatalf("%s: %v, memory use unknown: %s", cmd, err, out)
	}
	return usage.Maxrss << 10, string(out), err
}

// peakOf returns the peak memory of a program that must succeed.
func peakOf(tb testing.TB, cmd *exec.Cmd) int64 {
	tb.Helper()
	most, text, err := peak(tb, cmd)
	if err != nil {
		tb.Fatalf("%s: %v: %s", cmd, err, text)
	}
	return most
}
