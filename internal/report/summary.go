package report

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
)

const (
	// maxSummary is what GitHub takes as a step's summary, in bytes:
	// https://docs.github.com/en/actions/reference/workflows-and-actions/workflow-commands#step-isolation-and-limits
	maxSummary = 1 << 20
	// maxMessage bounds an error in a summary, in characters.
	maxMessage = 1000
	// leftOut is for the lines that say what did not fit.
	leftOut = 200
)

// markdown is what a summary consists of: failures and rows are lines, columns are the
// head of the table.
type markdown struct {
	heading, columns string
	failures, rows   []string
}

// markdownOf is the summary of a run with results.
func markdownOf(heading string, results []Item, whole *ErrorItem) markdown {
	m := markdown{heading: heading, columns: "| provider | version | status | platforms | moved |\n|---|---|---|---|---|\n"}
	if whole != nil {
		m.failures = append(m.failures, fmt.Sprintf("- %s\n", asCode(whole.Message)))
	}
	for _, i := range results {
		if i.Error != nil {
			m.failures = append(m.failures, fmt.Sprintf("- %s: %s\n", asCode(i.Provider+" "+i.Version), asCode(i.Error.Message)))
		}
		m.rows = append(m.rows, i.row())
	}
	return m
}

// appendTo adds the summary to a file, as GitHub's runner names one to each step of a
// job.
func (m markdown) appendTo(path string) error {
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

// text is the summary in at most limit bytes. Failures come first, so that they are the
// last to be cut.
func (m markdown) text(limit int) (string, error) {
	var b strings.Builder
	left := limit - leftOut
	add := func(text string) bool { // whole texts only, and none after one that did not fit
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
		return "", errors.New("the file is full: a summary may have 1 MiB")
	}
	all("\n", m.failures, "- and %d more failures\n")
	all("\n"+m.columns, m.rows, "\n%d more rows are left out.\n")
	return b.String() + "\n", nil
}

// row is an item's in the table.
func (i Item) row() string {
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
	return fmt.Sprintf("| %s | %s | %s | %s | %s |\n", asCode(i.Provider), asCode(i.Version), status, strings.Join(platforms, " "), Size(moved))
}

// asCode writes text of others as a code span, where Markdown, HTML and links are only
// text. What would end the span, or the table's cell, is replaced.
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
