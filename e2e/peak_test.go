//go:build linux

package e2e_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"testing"
	"time"
)

var highWater = regexp.MustCompile(`VmHWM:\s+(\d+) kB`)

// peak runs a program and returns its peak memory in bytes, its output, and its error.
// It reads the kernel's high-water mark, because the value that wait reports would
// include this process's memory at the time of the fork.
func peak(tb testing.TB, cmd *exec.Cmd) (most int64, text string, err error) {
	tb.Helper()
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		tb.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- cmd.Wait() }()
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for {
		status, failed := os.ReadFile(fmt.Sprintf("/proc/%d/status", cmd.Process.Pid))
		if m := highWater.FindSubmatch(status); failed == nil && m != nil {
			kib, _ := strconv.ParseInt(string(m[1]), 10, 64)
			most = max(most, kib<<10)
		}
		select {
		case err := <-done:
			if most == 0 {
				tb.Fatalf("%s: %v, memory use unknown: %s", cmd, err, &out)
			}
			return most, out.String(), err
		case <-tick.C:
		}
	}
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
