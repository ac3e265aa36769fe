package report

import (
	"fmt"
	"strings"
	"text/tabwriter"
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

// isHarmless reports whether a character only shows itself.
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

// oneEach puts each text on a line of its own.
func oneEach(texts []string) string {
	var b strings.Builder
	for _, text := range texts {
		b.WriteString(OneLine(text) + "\n")
	}
	return b.String()
}

// cells joins a table's row; empty cells at its end would be trailing spaces.
func cells(values ...string) string {
	for i, value := range values {
		values[i] = OneLine(value)
	}
	return strings.TrimRight(strings.Join(values, "\t"), "\t")
}

// table lays out rows of cells.
func table(rows []string) string {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	for _, row := range rows {
		_, _ = fmt.Fprintln(w, row)
	}
	_ = w.Flush()
	return b.String()
}

// fields has a line for each pair of a name and a value that is not empty. Names have a width.
func fields(width int, pairs ...[]string) string {
	var b strings.Builder
	for _, pair := range pairs {
		if pair[1] != "" {
			fmt.Fprintf(&b, "%-*s %s\n", width, pair[0], Continued(pair[1]))
		}
	}
	return b.String()
}
