package report

import (
	"fmt"
	"strings"

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
