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

// forward sends a signal to the child. If a key press causes the signal, the terminal
// also sends the signal to the child. In this case, forward sends nothing, because a
// second Ctrl-C could have a different effect.
func forward(p *os.Process, s os.Signal) {
	fromKeys := slices.Contains([]os.Signal{syscall.SIGINT, syscall.SIGQUIT}, s)
	if !fromKeys || !inForeground() {
		_ = p.Signal(s) // fails only if the child has exited
	}
}

// inForeground reports whether the terminal sends signals from key presses to this
// process and its child.
func inForeground() bool {
	terminal, err := os.Open("/dev/tty")
	if err != nil {
		return false
	}
	defer terminal.Close()
	group, err := unix.IoctlGetInt(int(terminal.Fd()), unix.TIOCGPGRP)
	return err == nil && group == unix.Getpgrp()
}

// exitCode returns the exit code of the child. If a signal terminated the child, it
// returns 128 plus the signal number, as shells do.
func exitCode(state *os.ProcessState) int {
	if status, ok := state.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return 128 + int(status.Signal())
	}
	return state.ExitCode()
}
