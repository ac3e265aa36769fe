package text

import "strings"

// Quote quotes text as one word in a POSIX shell's command line.
func Quote(text string) string { return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'" }
