package report

import (
	"io"
	"os"
	"regexp"
	"strings"

	"golang.org/x/term"

	"github.com/tofu-oci/tofu-oci/internal/doctor"
	"github.com/tofu-oci/tofu-oci/internal/outcome"
	"github.com/tofu-oci/tofu-oci/internal/sync"
	"github.com/tofu-oci/tofu-oci/pkg/approval"
	"github.com/tofu-oci/tofu-oci/pkg/publish"
)

// Values of --color.
const (
	// ColorAuto colors text on terminals that support colors, unless $NO_COLOR is set.
	// See https://no-color.org.
	ColorAuto   = "auto"
	ColorAlways = "always"
	ColorNever  = "never"
)

// Terminal colors, as parameters of the SGR escape sequence (ECMA-48).
const (
	red    = "31"
	green  = "32"
	yellow = "33"
	cyan   = "36"
	faint  = "2"
)

// colors maps labels, statuses, planned actions, and results of checks to their colors.
var colors = map[string]string{
	"tofu-oci:": red, "error:": red, "warning:": yellow, "note:": cyan, "hint:": cyan,
	"error": red, "errors": red, "warning": yellow, "warnings": yellow,

	string(publish.Created): green, string(publish.Extended): green, string(publish.Repaired): green, string(publish.Promoted): green,
	statusPulled: green, statusChecked: green, "mirrored": green, "copied": green, "restored": green, "written": green,
	string(publish.Replaced): yellow, string(publish.Pending): yellow, outcome.StatusHeld: yellow, "staged": yellow,
	string(approval.Pruned): yellow, "deleted": yellow,
	string(publish.Denied): red, outcome.StatusFailed: red, "conflicting": red, string(publish.Unchanged): faint,

	string(sync.Mirror): green, string(sync.Copy): green, string(sync.Extend): green, string(sync.Repair): green, string(sync.Restore): green,
	string(sync.Stage): yellow, string(sync.Hold): yellow, string(sync.PruneTag): yellow, string(sync.Delete): yellow,
	string(sync.Deny): red, string(sync.Conflict): red, string(sync.Fail): red, string(sync.Skip): faint,

	checkResults[doctor.CheckWorks]: green, checkResults[doctor.CheckFallback]: yellow, checkResults[doctor.CheckFails]: red,
}

// label matches the label at the start of a message.
var label = regexp.MustCompile(`^((?:tofu-oci|error|warning|note|hint):)`)

// statusPatterns match statuses outside tables. Their first group is the status.
var statusPatterns = []*regexp.Regexp{
	regexp.MustCompile(`^\S+ \d\S*(?: would be)?( [a-z]+)(?: |$)`), // hashicorp/null 3.2.4 created …
	regexp.MustCompile(`^\S+( [a-z]+)$`),                           // .terraform.lock.hcl written
	regexp.MustCompile(`(?:^|[:,] )[1-9]\d*( [a-z]+)`),             // 5 created, 1 failed · 41 s
}

// colorWriter colors labels, such as "warning:", and statuses. It expects complete lines
// without control characters.
type colorWriter struct{ io.Writer }

func (w colorWriter) Write(text []byte) (int, error) {
	var b strings.Builder
	for line := range strings.Lines(string(text)) {
		end := strings.TrimRight(line, "\n")
		b.WriteString(colorLine(end) + line[len(end):])
	}
	if _, err := io.WriteString(w.Writer, b.String()); err != nil {
		return 0, err
	}
	return len(text), nil
}

// colorLine colors a line without the newline. A table's cell is colored if it consists
// of a status.
func colorLine(line string) string {
	switch cells := strings.Split(line, "  "); {
	case strings.HasPrefix(line, "{"): // JSON, such as an event on stderr
		return line
	case label.MatchString(line):
		return colorGroup(line, label)
	case len(cells) > 1:
		for i, cell := range cells {
			cells[i] = inColor(cell)
		}
		return strings.Join(cells, "  ")
	}
	for _, pattern := range statusPatterns {
		if colored := colorGroup(line, pattern); colored != line {
			return colored
		}
	}
	return line
}

// colorGroup colors the first group of each match.
func colorGroup(line string, pattern *regexp.Regexp) string {
	var b strings.Builder
	last := 0
	for _, at := range pattern.FindAllStringSubmatchIndex(line, -1) {
		b.WriteString(line[last:at[2]] + inColor(line[at[2]:at[3]]))
		last = at[3]
	}
	return b.String() + line[last:]
}

// inColor colors a label, or a status after a space.
func inColor(word string) string {
	color := colors[strings.TrimSpace(word)]
	if color == "" {
		return word
	}
	return "\x1b[" + color + "m" + word + "\x1b[0m"
}

// Colored returns a writer that colors text, or w itself. when is a value of --color.
// Any other value has the same effect as [ColorAuto].
func Colored(w io.Writer, when string) io.Writer {
	f, isFile := w.(*os.File)
	isSupported := when != ColorNever && isFile && term.IsTerminal(int(f.Fd())) && enableColors(f)
	isWanted := os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
	if when == ColorAlways || isSupported && isWanted {
		return colorWriter{w}
	}
	return w
}
