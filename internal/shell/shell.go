// Package shell writes command lines for people and programs to run.
package shell

import "strings"

// Quote makes one word of a POSIX shell's command line of any text.
func Quote(text string) string { return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'" }
