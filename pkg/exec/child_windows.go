package exec

import (
	"os"
	"syscall"
)

// handled are the events of the console that are for the child: Ctrl-C, Ctrl-Break,
// and the end of the session.
var handled = []os.Signal{os.Interrupt, syscall.SIGTERM}

// forward does nothing: events of the console reach all of its processes.
func forward(*os.Process, os.Signal) {}

// exitCode is the child's.
func exitCode(state *os.ProcessState) int { return state.ExitCode() }
