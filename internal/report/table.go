package report

import (
	"fmt"
	"regexp"
	"strings"
	"text/tabwriter"
	"unicode/utf8"

	"github.com/tofu-oci/tofu-oci/internal/text"
)

// cells joins the cells of a table row. It omits empty cells at the end, because they
// would be trailing spaces.
func cells(values ...string) string {
	for i, value := range values {
		values[i] = OneLine(value)
	}
	return strings.TrimRight(strings.Join(values, "\t"), "\t")
}

// table aligns the columns of rows. On a terminal, it shortens digests and long names so
// that rows fit.
func (o *Report) table(rows []string) string {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, columnGap, ' ', 0)
	for _, row := range fitted(rows, o.columns) {
		_, _ = fmt.Fprintln(w, row)
	}
	_ = w.Flush()
	return b.String()
}

const (
	// columnGap is the number of spaces between the columns of a table.
	columnGap = 2
	// minCell is the width to which a cell can be shortened, in characters.
	minCell = 24
	// unknownColumns is the width of terminals whose size is unknown.
	unknownColumns = 80
	// continuation precedes the second and following lines of a wrapped line.
	continuation = "    "
)

// fit makes a result list fit on a terminal with the given number of columns. It
// shortens digests in wider lines and wraps lines that are still too wide. If columns
// is 0, it changes nothing.
func fit(list string, columns int) string {
	if columns == 0 {
		return list
	}
	var b strings.Builder
	for line := range strings.Lines(list) {
		content := strings.TrimSuffix(line, "\n")
		if text.Columns(content) > columns {
			line = strings.Join(text.Wrap(shortDigests(content), columns, continuation), "\n") + line[len(content):]
		}
		b.WriteString(line)
	}
	return b.String()
}

var digestPattern = regexp.MustCompile(`\b(sha256:[0-9a-f]{12})[0-9a-f]{52}\b`)

func shortDigests(s string) string { return digestPattern.ReplaceAllString(s, "$1…") }

// fitted makes a table fit into the given number of columns. It shortens digests, and then
// the widest columns. If the names would become unreadable, it shortens only digests, so
// that [fit] wraps the rows. If columns is 0, it changes nothing.
func fitted(rows []string, columns int) []string {
	table := make([][]string, len(rows))
	for i, row := range rows {
		table[i] = strings.Split(row, "\t")
	}
	if widths, _ := measured(table); columns == 0 || excess(widths, columns) <= 0 {
		return rows
	}
	shorten := func(short func(c int, cell string) string) {
		for _, row := range table {
			for c, cell := range row {
				if canShorten(cell) {
					row[c] = short(c, cell)
				}
			}
		}
	}
	shorten(func(_ int, cell string) string { return shortDigests(cell) })
	if widths := narrowed(table, columns); widths != nil {
		shorten(func(c int, cell string) string { return withoutMiddle(cell, widths[c]) })
	}
	narrow := make([]string, len(rows))
	for i, row := range table {
		narrow[i] = strings.Join(row, "\t")
	}
	return narrow
}

// measured returns the width of each column of a table, and the width to which it can be
// narrowed. It ignores cells in the last column that can't be shortened, because they can
// wrap.
func measured(table [][]string) (widths, least []int) {
	for _, row := range table {
		for c, cell := range row {
			if c == len(widths) {
				widths, least = append(widths, 0), append(least, minCell)
			}
			n := utf8.RuneCountInString(cell)
			switch {
			case canShorten(cell):
				widths[c] = max(widths[c], n)
			case c < len(row)-1:
				widths[c], least[c] = max(widths[c], n), max(least[c], n)
			}
		}
	}
	return widths, least
}

// excess returns the number of columns by which a table is too wide.
func excess(widths []int, columns int) int {
	n := -columns - columnGap
	for _, w := range widths {
		n += w + columnGap
	}
	return n
}

// narrowed returns the widths of a table's columns after narrowing the widest of them. If
// the table can't be narrowed to the given number of columns, it returns nil.
func narrowed(table [][]string, columns int) []int {
	widths, least := measured(table)
	for n := excess(widths, columns); n > 0; n-- {
		widest := -1
		for c, w := range widths {
			if w > least[c] && (widest < 0 || w > widths[widest]) {
				widest = c
			}
		}
		if widest < 0 {
			return nil
		}
		widths[widest]--
	}
	return widths
}

// canShorten reports whether a cell can be shortened. It returns false for sentences
// and for modules' references, because users copy references into configurations.
func canShorten(cell string) bool {
	return !strings.Contains(strings.TrimLeft(cell, " "), " ") && !strings.Contains(cell, "://")
}

// withoutMiddle replaces the middle of a string with an ellipsis if the string has more
// than the given number of characters.
func withoutMiddle(text string, width int) string {
	runes := []rune(text)
	if len(runes) <= width {
		return text
	}
	head := width / 2
	return string(runes[:head]) + "…" + string(runes[len(runes)-(width-head-1):])
}
