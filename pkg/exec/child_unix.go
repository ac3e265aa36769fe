//go:build unix

package exec

import (
	"os"
	"slices"
	"syscall"

	"golang.org/x/sys/unix"
)

// handled lists the signals to forward.
var handled = []os.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT, syscall.SIGUSR1, syscall.SIGUSR2}

// forward sends a signal to the child. If a key causes the signal, the terminal sends
// it to the child itself. forward doesn't send it again, because a second Ctrl-C could
// have a different effect.
func forward(p *os.Process, s os.Signal) {
	fromKeys := slices.Contains([]os.Signal{syscall.SIGINT, syscall.SIGQUIT}, s)
	if !fromKeys || !inForeground() {
		_ = p.Signal(s) // fails only if the child has exited
	}
}

// inForeground reports whether the terminal sends the signals of keys to this process
// and its child.
func inForeground() bool {
	terminal, err := os.Open("/dev/tty")
	if err != nil {
		return false
	}
	defer terminal.Close()
	group, err := unix.IoctlGetInt(int(terminal.Fd()), unix.TIOCGPGRP)
	return err == nil && group == unix.Getpgrp()
}

// exitCode returns the exit code of the child or, if a signal terminated it, 128 plus the
// signal number, like shells do.
func exitCode(state *os.ProcessState) int {
	if status, ok := state.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return 128 + int(status.Signal())
	}
	return state.ExitCode()
}
