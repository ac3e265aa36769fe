package report

import (
	"os"

	"golang.org/x/sys/windows"
)

// enableColors makes a console interpret escape sequences. It reports whether the
// console supports them.
func enableColors(console *os.File) bool {
	handle := windows.Handle(console.Fd())
	var mode uint32
	return windows.GetConsoleMode(handle, &mode) == nil && windows.SetConsoleMode(handle, mode|windows.ENABLE_VIRTUAL_TERMINAL_PROCESSING) == nil
}
