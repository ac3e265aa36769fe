package text

import (
	"strings"
	"unicode"

	"golang.org/x/text/width"
)

// Wrap splits a line into lines of at most the given number of columns. The lines after
// the first start with indent. A line ends between two words or, if possible, at two
// spaces, so that a table's cells stay whole. Wrap keeps words that are wider than a
// line.
func Wrap(line string, columns int, indent string) []string {
	var lines []string
	current := ""
	add := func(part string) {
		if strings.TrimSpace(current) != "" && strings.TrimSpace(part) != "" && Columns(strings.TrimRight(current+part, " ")) > columns {
			lines = append(lines, strings.TrimRight(current, " "))
			current, part = indent, strings.TrimLeft(part, " ")
		}
		current += part
	}
	for _, cell := range strings.SplitAfter(line, "  ") {
		if Columns(indent+strings.TrimRight(cell, " ")) <= columns {
			add(cell)
			continue
		}
		for _, word := range strings.SplitAfter(cell, " ") {
			add(word)
		}
	}
	return append(lines, strings.TrimRight(current, " "))
}

// Columns returns the number of columns that a terminal needs for a string.
func Columns(s string) (columns int) {
	for _, r := range s {
		switch kind := width.LookupRune(r).Kind(); {
		case unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf): // combined with the previous character, or invisible
		case kind == width.EastAsianWide || kind == width.EastAsianFullwidth:
			columns += 2
		default:
			columns++
		}
	}
	return columns
}
