package report

import (
	"io"
	"os"
	"regexp"
	"strings"

	"golang.org/x/term"

	"github.com/tofu-oci/tofu-oci/internal/outcome"
	"github.com/tofu-oci/tofu-oci/pkg/publish"
)

// Terminal colors, as parameters of the SGR escape sequence (ECMA-48).
const (
	red    = "31"
	green  = "32"
	yellow = "33"
	cyan   = "36"
	faint  = "2"
)

// colors maps labels and statuses to their colors.
var colors = map[string]string{
	"tofu-oci:": red, "error:": red, "warning:": yellow, "note:": cyan, "hint:": cyan,
	string(publish.Created): green, string(publish.Extended): green, string(publish.Repaired): green, string(publish.Promoted): green, statusPulled: green, statusChecked: green,
	string(publish.Replaced): yellow, string(publish.Pending): yellow, outcome.StatusHeld: yellow,
	string(publish.Denied): red, outcome.StatusFailed: red, string(publish.Unchanged): faint,
}

var (
	// statusLine matches lines such as "hashicorp/null 3.2.4 created …" and
	// "5 created, 1 failed · 41 s".
	statusLine  = regexp.MustCompile(`(?m)^(?:(?:dry run: )?\d+ [a-z].*|\S+/\S+ \S+ (?:would be )?[a-z]+\b)`)
	labels      = regexp.MustCompile(`(?m)^[a-z-]+:`)
	statusWords = regexp.MustCompile(` [a-z]+`)
)

// colorWriter colors labels, such as "warning:", and statuses. It expects text without
// control characters.
type colorWriter struct{ io.Writer }

func (w colorWriter) Write(text []byte) (int, error) {
	colored := labels.ReplaceAllFunc(text, inColor)
	colored = statusLine.ReplaceAllFunc(colored, func(line []byte) []byte { return statusWords.ReplaceAllFunc(line, inColor) })
	if _, err := w.Writer.Write(colored); err != nil {
		return 0, err
	}
	return len(text), nil
}

// inColor colors a label, or a status after a space.
func inColor(word []byte) []byte {
	color := colors[strings.TrimSpace(string(word))]
	if color == "" {
		return word
	}
	return []byte("\x1b[" + color + "m" + string(word) + "\x1b[0m")
}

// Colored returns a writer that colors text, if w is a terminal that supports colors.
// Otherwise, or if $NO_COLOR is set, it returns w. See https://no-color.org.
func Colored(w io.Writer) io.Writer {
	f, isFile := w.(*os.File)
	if !isFile || !term.IsTerminal(int(f.Fd())) || os.Getenv("NO_COLOR") != "" || os.Getenv("TERM") == "dumb" || !enableColors(f) {
		return w
	}
	return colorWriter{w}
}
