package report

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"github.com/tofu-oci/tofu-oci/internal/outcome"
)

const (
	// maxSummary is GitHub's limit for the size of a step's summary, in bytes. See
	// https://docs.github.com/en/actions/reference/workflows-and-actions/workflow-commands#step-isolation-and-limits.
	maxSummary = 1 << 20
	// maxMessage limits the length of an error message in a summary, in characters.
	maxMessage = 1000
	// truncationReserve is the number of bytes that are reserved for lines about
	// omitted rows.
	truncationReserve = 200
)

// markdown is a job summary or a comment. failures, warnings, and rows contain lines, and
// columns contains the titles of the table's columns.
type markdown struct {
	heading  string
	columns  []string
	failures []string
	warnings []string
	rows     []string
}

// fail adds the error of an item or, if about is empty, of the entire run. It ignores
// nil errors.
func (m *markdown) fail(about string, e *outcome.ErrorItem) {
	if about = asCode(about); about != "" {
		about += ": "
	}
	if e != nil {
		m.failures = append(m.failures, "- "+about+asCode(e.Message)+"\n")
	}
}

// warn adds a warning about an item or, if about is empty, about the entire run.
func (m *markdown) warn(about, text string) {
	if about = asCode(about); about != "" {
		about += ": "
	}
	m.warnings = append(m.warnings, "- warning: "+about+asCode(text)+"\n")
}

func (m *markdown) row(values ...string) {
	m.rows = append(m.rows, "| "+strings.Join(values, " | ")+" |\n")
}

// newMarkdown returns the summary of a run with the given results.
func newMarkdown(heading string, results []Item, whole *outcome.ErrorItem) *markdown {
	m := &markdown{heading: heading, columns: []string{"provider", "version", "status", "platforms", "moved"}}
	m.fail("", whole)
	for _, i := range results {
		m.fail(i.Provider+" "+i.Version, i.Error)
		var platforms []string
		var moved int64
		for _, p := range i.Packages {
			platforms = append(platforms, asCode(p.Platform))
			if p.Action == "pushed" || p.Action == "pulled" {
				moved += max(p.Size, 0)
			}
		}
		status := i.Status
		if i.DryRun {
			status = "would be " + status
		}
		m.row(asCode(i.Provider), asCode(i.Version), status, strings.Join(platforms, " "), Size(moved))
	}
	return m
}

// appendTo appends the summary to a step's summary file.
func (m *markdown) appendTo(path string) error {
	left := maxSummary
	if info, err := os.Stat(path); err == nil {
		left -= int(min(info.Size(), maxSummary))
	} else if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	text, err := m.text(left)
	if err != nil {
		return err
	}
	file, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	_, err = file.WriteString(text)
	return errors.Join(err, file.Close())
}

// text returns the summary in at most limit bytes. Failures come first, so that they
// are omitted last. It adds only complete blocks, and none after the first block that
// doesn't fit.
func (m *markdown) text(limit int) (string, error) {
	var b strings.Builder
	left := limit - truncationReserve
	add := func(text string) bool { // reports whether the text was added
		if left -= len(text); left >= 0 {
			b.WriteString(text)
		}
		return left >= 0
	}
	all := func(head string, lines []string, more string) {
		if len(lines) > 0 {
			add(head)
		}
		for n, line := range lines {
			if !add(line) {
				fmt.Fprintf(&b, more, len(lines)-n)
				return
			}
		}
	}
	if !add("### " + m.heading + "\n") {
		return "", errors.New("job summary exceeds 1 MiB")
	}
	all("\n", m.failures, "- and %d more failures\n")
	all("\n", m.warnings, "- and %d more warnings\n")
	all("\n| "+strings.Join(m.columns, " | ")+" |\n|"+strings.Repeat("---|", len(m.columns))+"\n", m.rows, "\n%d more rows are omitted.\n")
	return b.String() + "\n", nil
}

// asCode formats untrusted text as a code span, in which Markdown, HTML, and links have
// no effect. It replaces characters that would end the span or the table cell.
func asCode(s string) string {
	s = strings.Join(strings.Fields(s), " ")
	if runes := []rune(s); len(runes) > maxMessage {
		s = string(runes[:maxMessage]) + "…"
	}
	s = strings.NewReplacer("`", "\uFFFD", "|", "\uFFFD").Replace(OneLine(s))
	if s == "" {
		return ""
	}
	return "`" + s + "`"
}
