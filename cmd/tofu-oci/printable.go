package main

import (
	"strings"
	"unicode"
)

// printable keeps text of others, which may be in errors and results, from
// steering the terminal: control characters and those that change the direction
// of writing become replacement characters.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		if r != '\n' && r != '\t' && (unicode.IsControl(r) || unicode.Is(unicode.Cf, r)) {
			return unicode.ReplacementChar
		}
		return r
	}, s)
}
