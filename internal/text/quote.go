package text

import "strings"

// Quote makes one word of a POSIX shell's command line of any text.
func Quote(text string) string { return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'" }
