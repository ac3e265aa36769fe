// Package report prints the results of commands. Results and documents are printed on
// stdout, and progress, warnings, and errors on stderr. The formats are text, progress
// bars, JSON, JSON Lines, SARIF, Markdown, and GitHub annotations.
package report

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/tofu-oci/tofu-oci/internal/atomicfile"
	"github.com/tofu-oci/tofu-oci/internal/explain"
	"github.com/tofu-oci/tofu-oci/internal/httpclient"
	"github.com/tofu-oci/tofu-oci/internal/outcome"
	"github.com/tofu-oci/tofu-oci/pkg/module"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// Output formats.
const (
	Text = "text"
	JSON = "json"
	// SARIF is the format of findings for code-scanning pages.
	SARIF = "sarif"
	// Markdown is the format of plans and reports for pull request comments.
	Markdown = "markdown"
	// GitHub is the format of findings for GitHub jobs. The jobs show the findings in
	// the changed files.
	GitHub = "github"
)

// Options configures a [Report].
type Options struct {
	Stdout, Stderr io.Writer
	Command        string
	// Version is the version of tofu-oci.
	Version string
	// Format is the output format. If empty, Text is used.
	Format string
	// Color is the value of --color. If empty, ColorAuto is used.
	Color          string
	Quiet, Verbose bool
	DryRun         bool
	// Events and DigestFile are the values of --events and --digest-file.
	Events, DigestFile string
	// Summary is the file for the job summary in Markdown. If empty, no summary is
	// written.
	Summary string
	// Debug is nil without --debug.
	Debug *Debug
}

// Report prints results on stdout and everything else on stderr.
type Report struct {
	Options
	stdout, stderr io.Writer
	json           bool
	// columns is the width of stdout, or 0 if no text is printed to a terminal. Result
	// lists fit into this width.
	columns int

	mu      sync.Mutex
	results []Item
	errors  []error
	// unread contains the errors about files and lines that could not be read.
	unread []*outcome.ErrorItem
	// printedHints contains the hints that have already been printed, because each hint
	// is printed only once.
	printedHints map[string]bool
	// noted contains the texts that NoteOnce has printed.
	noted sync.Map
	run   *run
	// bars is nil if stderr is not a terminal.
	bars *bars
	// digests contains the digests of all indexes that the run has reported so far.
	digests []string
	// manyReleases reports whether the run has more than one release. In such a run,
	// unchanged releases are counted but not listed.
	manyReleases bool
	// plan is nil if the run is not a dry run.
	plan *dryRunPlan
	// skipped contains the pre-releases that --all skipped.
	skipped []skippedItem
	direct  []module.NonRegistryCall
	// Unchecked is set if publish doesn't check the zips.
	Unchecked bool
	// warnings contains the warnings that do not concern a specific release.
	warnings []string
	// result, if not nil, is the result of a command that provides a different summary.
	result result
}

// result summarizes the result of a command.
type result interface {
	// line returns the summary in one line.
	line() string
	// markdown returns the job summary. whole is the error of the whole run, or nil.
	markdown(heading string, whole *outcome.ErrorItem) *markdown
}

// New returns a command's report. It returns an error if the events file can't be
// opened.
func New(options Options) (*Report, error) {
	o := &Report{Options: options, stdout: options.Stdout, stderr: Colored(options.Stderr, options.Color), json: options.Format == JSON, printedHints: map[string]bool{}, run: newRun()}
	if options.Format == "" || options.Format == Text {
		o.stdout, o.columns = Colored(options.Stdout, options.Color), listColumns(options.Stdout)
	}
	if o.Events != "" {
		events, err := openEvents(o.Events, o)
		if err != nil {
			return nil, err
		}
		o.run.listeners = append(o.run.listeners, events)
	}
	f, isFile := o.Stderr.(*os.File)
	switch {
	case o.Quiet:
	case isFile && canDraw(f, os.Getenv("TERM")):
		o.bars = newBars(f, o.run)
		if _, isColored := o.stderr.(colorWriter); isColored {
			o.stderr = colorWriter{o.bars}
		} else {
			o.stderr = o.bars
		}
		o.run.listeners = append(o.run.listeners, o.bars)
	default:
		o.run.listeners = append(o.run.listeners, newLines(o.Note, o.run))
	}
	o.Debug.setOutput(progressWriter{o})
	o.run.notify(&runStarted{event: event{Event: "run_started"}, Schema: eventsSchema, Program: "tofu-oci", ProgramVersion: o.Version, Command: o.Command, DryRun: o.DryRun})
	return o, nil
}

// Failed reports that a requirement or version failed. repository is empty if the
// repository is unknown.
func (o *Report) Failed(r provider.Requirement, v provider.Version, repository string, err error) {
	o.failed(failedItem(r, v, repository, err), err)
}

// failed reports an item's error. If the run was interrupted, it only records the
// error, because the interruption is printed once at the end.
func (o *Report) failed(i Item, err error) {
	o.mu.Lock()
	o.errors = append(o.errors, err)
	o.results = append(o.results, i)
	o.mu.Unlock()
	if !errors.Is(err, context.Canceled) {
		o.printError(err)
	}
}

// Unread reports an error about an unreadable file or line that selects items. The run
// continues with the other items. See [Report.Ended].
func (o *Report) Unread(err error) {
	o.mu.Lock()
	o.unread = append(o.unread, outcome.DescribeError(err))
	o.mu.Unlock()
	o.printError(err)
}

// Ended returns the error of a run that ended with err. If only files or lines could not
// be read, the run did some of its work.
func (o *Report) Ended(err error) error {
	if err == nil && len(o.unread) > 0 {
		return &explain.ExitError{Code: explain.ExitPartly}
	}
	return err
}

// printError prints an error. It also prints the error's hint if the hint was not
// printed before.
func (o *Report) printError(err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	h := explain.Hint(err)
	if o.printedHints[h] {
		h = ""
	}
	o.printedHints[h] = true
	fmt.Fprint(o.stderr, Printable(explain.Text(err, h)))
}

// done reports an item that succeeded. In text format, it prints the given
// text.
func (o *Report) done(i Item, text string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.results = append(o.results, i)
	if !o.json {
		_, _ = io.WriteString(o.resultWriter(), Printable(fit(text, o.columns)))
	}
}

// resultWriter returns the writer for results. If stdout is the terminal that shows the
// progress bars, results are printed above the bars.
func (o *Report) resultWriter() io.Writer {
	if o.columns > 0 && o.bars != nil {
		return o.stderr
	}
	return o.stdout
}

// Finish ends the progress display, prints the JSON document, and returns the run's
// error.
func (o *Report) Finish() error {
	o.EndProgress()
	if err := o.writeDigests(); err != nil {
		return fmt.Errorf("--digest-file: %w", err)
	}
	if o.json {
		if err := printItems(o, "results", o.results, runSummary{counts(o.results), o.plan, o.skipped, o.direct}, ""); err != nil {
			return err
		}
	} else if o.plan != nil {
		_, _ = io.WriteString(o.stdout, fit(o.plan.String()+"\n", o.columns))
	}
	err := explain.Items(len(o.results)-len(o.errors)-counts(o.results)[outcome.StatusHeld], o.errors)
	if err == nil && slices.ContainsFunc(o.direct, func(c module.NonRegistryCall) bool { return c.IsUnresolved }) {
		err = &explain.ExitError{Code: explain.ExitPartly}
	}
	return err
}

// writeDigests writes the file for --digest-file, unless the result has no digest.
func (o *Report) writeDigests() error {
	if o.DigestFile == "" || len(o.digests) == 0 {
		return nil
	}
	text := strings.Join(o.digests, "\n") + "\n"
	if info, err := os.Stat(o.DigestFile); err == nil && !info.Mode().IsRegular() {
		// The file can be a pipe or /dev/stdout, which must not be replaced.
		return os.WriteFile(o.DigestFile, []byte(text), 0o644)
	}
	return atomicfile.WriteFile(o.DigestFile, 0o644, []byte(text))
}

// Warn prints a warning, even if --quiet is set.
func (o *Report) Warn(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	o.mu.Lock()
	o.warnings = append(o.warnings, text)
	o.mu.Unlock()
	o.printWarning(text)
}

func (o *Report) printWarning(text string) {
	fmt.Fprintln(progressWriter{o}, Printable(Continued("warning: "+text)))
}

// Note prints a line unless --quiet is set.
func (o *Report) Note(format string, args ...any) {
	if !o.Quiet {
		fmt.Fprintln(progressWriter{o}, Printable(Continued(fmt.Sprintf(format, args...))))
	}
}

// NoteOnce is like Note, but prints each text only once.
func (o *Report) NoteOnce(text string) {
	if _, again := o.noted.LoadOrStore(text, true); !again {
		o.Note("%s", text)
	}
}

// Retried reports a retry and its reason, or a pause in the requests to a host.
func (o *Report) Retried(r httpclient.Retry) {
	o.Debug.retried(r)
	if r.Host != "" {
		o.Note("pausing requests to %s for %s, then sending fewer at once: %v", r.Host, r.Wait.Round(time.Millisecond), r.Cause)
		o.run.notify(&paused{event: event{Event: "pause"}, Host: r.Host, Reason: r.Cause.Error(), Wait: seconds(r.Wait)})
		return
	}
	e := &retried{
		event: event{Event: "retry"}, What: fmt.Sprintf("%s %s", r.Method, r.URL), Reason: r.Cause.Error(),
		Wait: seconds(r.Wait), Try: r.Attempt + 1, Of: r.Of,
	}
	if u, err := url.Parse(r.URL); err == nil {
		e.Host = u.Host
	}
	o.Note("retrying %s in %s (try %d of %d): %s", e.What, r.Wait.Round(time.Millisecond), e.Try, e.Of, e.Reason)
	o.run.notify(e)
}

// Progress returns callbacks that count and show transfers.
func (o *Report) Progress() provider.Progress {
	p := o.run.progress()
	p.Retry = func(what string, err error) {
		o.Note("%s was interrupted; retrying: %v", what, err)
		o.run.notify(&retried{event: event{Event: "retry"}, What: what, Reason: err.Error()})
	}
	p.Omit = func(list string, err error) {
		o.NoteOnce(fmt.Sprintf("ignoring invalid entries in %s: %v", list, err))
	}
	return p
}

// Step shows an activity without transfers until done is called.
func (o *Report) Step(format string, args ...any) (done func()) {
	return o.run.step(OneLine(fmt.Sprintf(format, args...)))
}

// EndProgress removes the progress display.
func (o *Report) EndProgress() {
	o.run.notify(displayClosed{})
	o.mu.Lock()
	defer o.mu.Unlock()
	o.stderr = Colored(o.Stderr, o.Color)
}

// FinishRun finishes a run with several releases. With --fail-fast, it prints the
// number of releases that were not started. err is the error of a canceled context.
// FinishRun joins err with the run's error and returns both.
func (o *Report) FinishRun(err error) error {
	if n := o.run.planned - len(o.results); err == nil && n > 0 {
		o.Note("%d of %d releases were not started because of --fail-fast", n, o.run.planned)
	}
	return errors.Join(o.Finish(), err)
}
