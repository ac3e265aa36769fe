package report

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf16"
)

// Printable keeps text of others, which may be in errors and results, from
// steering the terminal, and the runner of a pipeline: control characters and
// those that change the direction of writing become replacement characters, and
// no line is a workflow command. Lines may end as on Windows, and then end as here.
//
// GitHub's runner takes "::command::" at the beginning of a line, white space
// aside, and "##[command]" anywhere in one:
// https://docs.github.com/en/actions/reference/workflows-and-actions/workflow-commands
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
		if text := strings.TrimLeftFunc(line, unicode.IsSpace); strings.HasPrefix(text, "::") {
			lines[i] = line[:len(line)-len(text)] + "\uFFFD" + text
		}
	}
	return strings.Join(lines, "")
}

// isHarmless tells whether a character only shows itself.
func isHarmless(r rune) bool {
	return !unicode.IsControl(r) && !unicode.In(r, unicode.Cf, unicode.Zl, unicode.Zp)
}

// OneLine keeps text of others within the line, and the cell, that it stands in.
func OneLine(s string) string {
	return Printable(strings.Map(func(r rune) rune {
		if r == '\n' || r == '\t' {
			return unicode.ReplacementChar
		}
		return r
	}, s))
}

// Continued indents all lines of a text but the first: what an error quotes from
// elsewhere must not pass for a line of ours.
func Continued(s string) string { return strings.ReplaceAll(s, "\n", "\n  ") }

// printableJSON does for a JSON document what printable does for text, without
// changing what it says: such characters stand in strings only, and are escaped
// there.
func printableJSON(document string) string {
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
