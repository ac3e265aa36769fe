//go:build unix

package exec

import (
	"os"
	"slices"
	"syscall"

	"golang.org/x/sys/unix"
)

// handled are the signals that are for the child.
var handled = []os.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT, syscall.SIGUSR1, syscall.SIGUSR2}

// forward sends the child a signal. What keys of a terminal send reaches it without
// us, and a second Ctrl-C would mean more to it than one.
func forward(p *os.Process, s os.Signal) {
	fromKeys := slices.Contains([]os.Signal{syscall.SIGINT, syscall.SIGQUIT}, s)
	if !fromKeys || !inForeground() {
		_ = p.Signal(s) // which has ended otherwise
	}
}

// inForeground reports whether a terminal's keys reach this process and its child.
func inForeground() bool {
	terminal, err := os.Open("/dev/tty")
	if err != nil {
		return false
	}
	defer terminal.Close()
	group, err := unix.IoctlGetInt(int(terminal.Fd()), unix.TIOCGPGRP)
	return err == nil && group == unix.Getpgrp()
}

// exitCode is the child's, or 128 and the signal's number, as shells have it.
func exitCode(state *os.ProcessState) int {
	if status, ok := state.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return 128 + int(status.Signal())
	}
	return state.ExitCode()
}
