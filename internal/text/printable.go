package text

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf16"
)

// Printable makes untrusted text safe for terminals and CI runners. It replaces control
// characters and characters that change the writing direction, and disables workflow
// commands. It also converts Windows line endings.
//
// GitHub's runner recognizes "::command::" at the start of a line, after optional white
// space, and "##[command]" anywhere. See
// https://docs.github.com/en/actions/reference/workflows-and-actions/workflow-commands.
func Printable(s string) string {
	s = strings.Map(func(r rune) rune {
		if r != '\n' && r != '\t' && !isHarmless(r) {
			return unicode.ReplacementChar
		}
		return r
	}, strings.ReplaceAll(s, "\r\n", "\n"))
	s = strings.ReplaceAll(s, "##[", "##\uFFFD[")
	if !strings.Contains(s, "::") {
		return s
	}
	lines := strings.SplitAfter(s, "\n")
	for i, line := range lines {
		if rest := strings.TrimLeftFunc(line, unicode.IsSpace); strings.HasPrefix(rest, "::") {
			lines[i] = line[:len(line)-len(rest)] + "\uFFFD" + rest
		}
	}
	return strings.Join(lines, "")
}

// isHarmless reports whether a character does not affect how adjacent characters are
// displayed.
func isHarmless(r rune) bool {
	return !unicode.IsControl(r) && !unicode.In(r, unicode.Cf, unicode.Zl, unicode.Zp)
}

// OneLine is like [Printable]. Use it for text that must not contain line breaks or
// tabs, such as a table cell.
func OneLine(s string) string {
	return Printable(strings.Map(func(r rune) rune {
		if r == '\n' || r == '\t' {
			return unicode.ReplacementChar
		}
		return r
	}, s))
}

// Continued indents all lines of a text except the first line, so that quoted text
// can't be mistaken for the program's own text.
func Continued(s string) string { return strings.ReplaceAll(s, "\n", "\n  ") }

// PrintableJSON escapes the characters of a JSON document that [Printable] replaces.
// These characters occur only in strings, so the values do not change.
func PrintableJSON(document string) string {
	document = strings.ReplaceAll(document, "##[", `##\u005b`)
	var b strings.Builder
	for _, r := range document {
		switch {
		case r == '\n' || isHarmless(r):
			b.WriteRune(r)
		case r > 0xFFFF:
			high, low := utf16.EncodeRune(r)
			fmt.Fprintf(&b, `\u%04x\u%04x`, high, low)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
	}
	return b.String()
}
