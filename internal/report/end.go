package report

import (
	"errors"
	"fmt"
	"time"

	"github.com/tofu-oci/tofu-oci/internal/explain"
)

// errorSummary is the summary of a failed command's document without items.
type errorSummary struct {
	Error *ErrorItem `json:"error"`
}

// End prints the run's summary, writes the last event, and adds the summary to the job.
// code is the exit code. err is not nil if the command failed.
func (o *Report) End(err error, code int) {
	if o.plan == nil && o.Sync == nil && len(o.results) > 1 && code != explain.ExitInterrupted {
		o.Note("%s", o.line())
	}
	o.noteSkipped()
	var whole *ErrorItem
	if _, reported := errors.AsType[*explain.ExitError](err); err != nil && !reported && code != explain.ExitInterrupted {
		whole = describeError(err)
	}
	o.run.notify(&runFinished{
		event: event{Event: "run_finished"}, Statuses: counts(o.results), Bytes: o.run.moved, Seconds: seconds(time.Since(o.run.started)), ExitCode: code, Error: whole,
	})
	if o.Summary != "" {
		text := newMarkdown(o.heading(code), o.results, whole)
		if o.lockCheck.done {
			text = o.lockCheck.markdown(o.heading(code))
		}
		if o.Sync != nil {
			text = o.syncMarkdown(o.heading(code), whole)
		}
		if err := text.appendTo(o.Summary); err != nil {
			o.Warn("writing the job summary to $GITHUB_STEP_SUMMARY: %v", err)
		}
	}
}

// line returns the run's summary in one line.
func (o *Report) line() string { return line(o.results, o.run.moved, time.Since(o.run.started)) }

// heading returns the job summary's heading.
func (o *Report) heading(code int) string {
	text := "tofu-oci " + o.Command
	switch {
	case o.lockCheck.done:
		text += " --check: " + o.lockCheck.line()
	case o.Sync != nil:
		text += ": " + o.syncLine()
	case len(o.results) > 0:
		text += ": " + o.line()
	}
	if code != explain.ExitDone {
		text += fmt.Sprintf(" · exit code %d", code)
	}
	return text
}

// PrintError prints the JSON document for a command that failed without results.
func (o *Report) PrintError(err error) error {
	return printItems(o, "error", []none{}, errorSummary{describeError(err)}, "")
}
