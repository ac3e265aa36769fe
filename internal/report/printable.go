package report

import (
	"fmt"
	"strings"
	"text/tabwriter"
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
		if text := strings.TrimLeftFunc(line, unicode.IsSpace); strings.HasPrefix(text, "::") {
			lines[i] = line[:len(line)-len(text)] + "\uFFFD" + text
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

// printableJSON escapes the characters of a JSON document that [Printable] replaces.
// These characters occur only in strings, so the values do not change.
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

// texts returns the texts of values.
func texts[T fmt.Stringer](values []T) (all []string) {
	for _, value := range values {
		all = append(all, value.String())
	}
	return all
}

// joinLines joins the texts, each on a separate line.
func joinLines(texts []string) string {
	var b strings.Builder
	for _, text := range texts {
		b.WriteString(OneLine(text) + "\n")
	}
	return b.String()
}

// cells joins the cells of a table row. It omits empty cells at the end, because they
// would be trailing spaces.
func cells(values ...string) string {
	for i, value := range values {
		values[i] = OneLine(value)
	}
	return strings.TrimRight(strings.Join(values, "\t"), "\t")
}

// table aligns the columns of rows.
func table(rows []string) string {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	for _, row := range rows {
		_, _ = fmt.Fprintln(w, row)
	}
	_ = w.Flush()
	return b.String()
}

// fields returns a line for each pair of a name and a nonempty value. It pads names to
// the given width.
func fields(width int, pairs ...[]string) string {
	var b strings.Builder
	for _, pair := range pairs {
		if pair[1] != "" {
			fmt.Fprintf(&b, "%-*s %s\n", width, pair[0], Continued(pair[1]))
		}
	}
	return b.String()
}
