package recording

import (
	"regexp"
	"strings"
)

const (
	// columns and rows are the size of the terminal. With this size, the font is
	// readable in a README on GitHub.
	columns, rows = 102, 25
	prompt        = "$ tofu-oci "
)

// Durations in the animation, in seconds. The output is real, but appears slowly enough
// to be readable.
const (
	perLetter = 0.022 // per typed letter
	perLine   = 0.05  // per printed line
	reading   = 0.35  // per line, for reading
	breath    = 0.6   // between the comment and the command
	rest      = 5.0   // at the end, before the animation restarts
)

// span is text in a single color.
type span struct{ class, text string }

// row is a row of the terminal.
type row struct {
	spans []span
	// wrapped reports whether the row continues the previous one.
	wrapped bool
	// from is the time at which the row appears. typed is the duration of typing a
	// command.
	from, typed float64
}

// Classes of spans, which select their colors.
const (
	classPlain   = ""
	classRemark  = "r"
	classPrompt  = "p"
	classCommand = "c"
	classGood    = "g"
	classHash    = "h"
)

// notable matches the parts of tofu-oci's output that are colored.
var notable = regexp.MustCompile(`(\b(?:created|unchanged|pushed|pulled|checksum ok)\b)|(sha256:[0-9a-f]{64}|h1:[A-Za-z0-9+/=]{44}|\b[0-9A-F]{40}\b)`)

// screen returns all rows with the times at which they appear. It also returns the
// total duration.
func screen(scenes []Scene) (all []row, seconds float64) {
	seconds = breath
	for _, s := range scenes {
		all = append(all, wrap([]span{{classRemark, "# " + s.Why}}, seconds)...)
		seconds += breath
		for _, r := range wrap([]span{{classPrompt, prompt[:2]}, {classCommand, prompt[2:] + s.Command}}, seconds) {
			r.from, r.typed = seconds, perLetter*float64(r.width())
			seconds += r.typed
			all = append(all, r)
		}
		seconds += breath
		lines := strings.Split(strings.TrimRight(s.Output, "\n"), "\n")
		for _, line := range lines {
			all = append(all, wrap(colored(line), seconds)...)
			seconds += perLine
		}
		all = append(all, row{from: seconds})
		seconds += reading*float64(min(len(lines), 6)) + breath
	}
	return all, seconds + rest
}

// colored splits a line into colored spans.
func colored(line string) (spans []span) {
	at := 0
	for _, found := range notable.FindAllStringSubmatchIndex(line, -1) {
		class := classGood
		if found[2] < 0 {
			class = classHash
		}
		spans = append(spans, span{classPlain, line[at:found[0]]}, span{class, line[found[0]:found[1]]})
		at = found[1]
	}
	return append(spans, span{classPlain, line[at:]})
}

// wrap splits a line into rows, as a terminal does.
func wrap(line []span, from float64) (all []row) {
	r, left := row{from: from}, columns
	for _, s := range line {
		text := []rune(s.text)
		for len(text) > left {
			r.spans = append(r.spans, span{s.class, string(text[:left])})
			all = append(all, r)
			text, r, left = text[left:], row{from: from, wrapped: true}, columns
		}
		r.spans = append(r.spans, span{s.class, string(text)})
		left -= len(text)
	}
	return append(all, r)
}

func (r row) width() (n int) {
	for _, s := range r.spans {
		n += len([]rune(s.text))
	}
	return n
}
