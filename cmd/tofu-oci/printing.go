package main

import (
	"errors"
	"fmt"
	"os"

	"github.com/urfave/cli/v2"

	"github.com/tofu-oci/tofu-oci/internal/explain"
)

// wholeError is what a command as a whole failed with.
type wholeError struct {
	Error *errorItem `json:"error"`
}

// printing gives an action its output, and ends it: what a command fails with as
// a whole is in its JSON object too.
func printing(do func(*cli.Context, *output) error) cli.ActionFunc {
	return func(c *cli.Context) error {
		out, err := newOutput(c)
		if err != nil {
			return err
		}
		c.Context = out.debug.programs(c.Context)
		sharedBy(c.App).printing = true
		err = namingVariables(c.App, do(c, out))
		out.endProgress()
		if _, reported := errors.AsType[*explain.Exit](err); err != nil && !reported && out.json {
			err = errors.Join(err, out.printDocument(documentError, wholeError{describeError(err)}))
		}
		out.conclude(c, err)
		return err
	}
}

// conclude says what a run came to: to people, to those who read its events, and
// in the summary of a job.
func (o *output) conclude(c *cli.Context, err error) {
	code := explain.ExitCode(c.Context, err)
	if o.total == nil && len(o.results) > 1 && code != explain.ExitInterrupted {
		o.note("%s", o.tally.line(o.results))
	}
	o.sayLeftOut()
	var whole *errorItem
	if _, reported := errors.AsType[*explain.Exit](err); err != nil && !reported && code != explain.ExitInterrupted {
		whole = describeError(err)
	}
	o.events.runFinished(counts(o.results), o.tally.moved.Load(), code, whole)
	if path := os.Getenv("GITHUB_STEP_SUMMARY"); path != "" && (movesZips(c.Command) || checksLocks(c)) {
		text := markdownOf(o.heading(c.Command.Name, code), o.results, whole)
		if o.checked != nil {
			text = o.checked.markdown(code)
		}
		if err := text.appendTo(path); err != nil {
			o.warn("the summary in $GITHUB_STEP_SUMMARY: %v", err)
		}
	}
}

// heading is the summary's.
func (o *output) heading(command string, code int) string {
	text := "tofu-oci " + command
	if len(o.results) > 0 {
		text += ": " + o.tally.line(o.results)
	}
	if code != explain.ExitDone {
		text += fmt.Sprintf(" · exit code %d", code)
	}
	return text
}

// checksLocks tells of lock --check.
func checksLocks(c *cli.Context) bool { return c.Command.Name == "lock" && c.Bool("check") }

// movesZips tells of mirror, publish, pull and copy.
func movesZips(c *cli.Command) bool { return flagNamed(c, eventsFlag().Names()[0]) != nil }
