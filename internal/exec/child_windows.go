package exec

import (
	"os"
	"syscall"
)

// handled lists the console events that are left to the child: Ctrl-C, Ctrl-Break, and
// the end of the session.
var handled = []os.Signal{os.Interrupt, syscall.SIGTERM}

// forward does nothing, because console events are sent to all processes of the console.
func forward(*os.Process, os.Signal) {}

// exitCode returns the exit code of the child.
func exitCode(state *os.ProcessState) int { return state.ExitCode() }
