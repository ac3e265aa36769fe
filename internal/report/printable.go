package report

import (
	"fmt"
	"strings"
	"text/tabwriter"
	"unicode/utf8"

	"github.com/tofu-oci/tofu-oci/internal/text"
)

// Printable is [text.Printable].
func Printable(s string) string { return text.Printable(s) }

// OneLine is [text.OneLine].
func OneLine(s string) string { return text.OneLine(s) }

// Continued is [text.Continued].
func Continued(s string) string { return text.Continued(s) }

// joinLines puts each string on a separate line.
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

// table aligns the columns of rows. On a terminal, it shortens long names and hashes
// so that rows fit.
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
	minCell = 16
)

// fitted shortens the widest columns of a table until the table fits into the given
// number of characters. It keeps cells with spaces, and ignores sentences in the last
// column, because they can wrap. If columns is 0, it changes nothing.
func fitted(rows []string, columns int) []string {
	// 1. Measure the columns.
	table, widths, least := make([][]string, len(rows)), []int{}, []int{}
	for i, row := range rows {
		table[i] = strings.Split(row, "\t")
		for c, cell := range table[i] {
			if c == len(widths) {
				widths, least = append(widths, 0), append(least, minCell)
			}
			n := utf8.RuneCountInString(cell)
			switch {
			case canShorten(cell):
				widths[c] = max(widths[c], n)
			case c < len(table[i])-1:
				widths[c], least[c] = max(widths[c], n), max(least[c], n)
			}
		}
	}
	// 2. Narrow the widest columns.
	excess := -columns - columnGap
	for _, w := range widths {
		excess += w + columnGap
	}
	for ; columns > 0 && excess > 0; excess-- {
		widest := -1
		for c, w := range widths {
			if w > least[c] && (widest < 0 || w > widths[widest]) {
				widest = c
			}
		}
		if widest < 0 {
			break
		}
		widths[widest]--
	}
	// 3. Shorten the cells.
	narrow := make([]string, len(rows))
	for i, row := range table {
		for c, cell := range row {
			if canShorten(cell) {
				row[c] = withoutMiddle(cell, widths[c])
			}
		}
		narrow[i] = strings.Join(row, "\t")
	}
	return narrow
}

func canShorten(cell string) bool { return !strings.Contains(strings.TrimLeft(cell, " "), " ") }

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
