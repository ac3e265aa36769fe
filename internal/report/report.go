// Package report shows what commands do and found: results and documents on stdout, and
// progress, warnings and errors on stderr, as text, bars on a terminal, JSON, JSON lines,
// SARIF or annotations of GitHub.
package report

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"strings"
	"sync"
	"time"

	"golang.org/x/term"

	"github.com/tofu-oci/tofu-oci/internal/atomicfile"
	"github.com/tofu-oci/tofu-oci/internal/explain"
	"github.com/tofu-oci/tofu-oci/internal/httpclient"
	"github.com/tofu-oci/tofu-oci/pkg/artifact"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// Formats of results.
const (
	Text = "text"
	JSON = "json"
	// SARIF is for findings, which code-scanning pages show.
	SARIF = "sarif"
	// GitHub is for findings, which a job on GitHub shows beside a change.
	GitHub = "github"
)

// Options say what a report is about and how it is shown.
type Options struct {
	Stdout, Stderr io.Writer
	// Command is the name of the command.
	Command string
	// Version is that of the program.
	Version string
	// Format is that of the result: Text by default.
	Format         string
	Quiet, Verbose bool
	DryRun         bool
	// Events and DigestFile are the files of --events and --digest-file.
	Events, DigestFile string
	// Summary is the file that a summary in Markdown is added to; empty for none.
	Summary string
	// Debug is nil without --debug.
	Debug *Debug
}

// Report prints: results on stdout, everything else on stderr.
type Report struct {
	Options
	stdout, stderr io.Writer
	json           bool

	mu      sync.Mutex
	results []Item
	errors  []error
	// hinted are the hints that were said: what twenty items need is said once.
	hinted map[string]bool
	run    *run
	// bars show the progress on a terminal, nil on any other.
	bars *bars
	// digests are those of the indexes so far.
	digests []string
	// several reports that the run has more than one release, so that unchanged ones are
	// only counted.
	several bool
	// plan is nil unless the run is a dry run.
	plan *dryRunPlan
	// skipped lists the pre-releases that --all skipped.
	skipped []skippedItem
	// Unchecked marks what is published without a look into the zips.
	Unchecked bool
	// lockCheck is the result of lock --check so far.
	lockCheck lockCheck
	lockFiles []lockedFile
}

// New begins the report of a command. Its errors are about --events.
func New(options Options) (*Report, error) {
	o := &Report{Options: options, stdout: options.Stdout, stderr: options.Stderr, json: options.Format == JSON, hinted: map[string]bool{}, run: newRun()}
	if o.Events != "" {
		events, err := openEvents(o.Events, o)
		if err != nil {
			return nil, err
		}
		o.run.listeners = append(o.run.listeners, events)
	}
	f, isFile := o.stderr.(*os.File)
	switch {
	case o.Quiet:
	case isFile && canDraw(f, os.Getenv("TERM")):
		o.bars = newBars(f, o.run)
		o.stderr = o.bars
		o.run.listeners = append(o.run.listeners, o.bars)
	default:
		o.run.listeners = append(o.run.listeners, newLines(o.Note, o.run))
	}
	o.Debug.beside(besideProgress{o})
	o.run.tell(&runStarted{event: event{Event: "run_started"}, Schema: eventsSchema, Program: "tofu-oci", ProgramVersion: o.Version, Command: o.Command, DryRun: o.DryRun})
	return o, nil
}

// runSummary is the summary of mirror, publish, pull, copy, promote, deny, and trust.
type runSummary struct {
	// Statuses is the number of items by status.
	Statuses map[string]int `json:"statuses"`
	// Plan is nil unless the run is a dry run.
	Plan *dryRunPlan `json:"plan,omitempty"`
	// Skipped lists the pre-releases that --all skipped.
	Skipped []skippedItem `json:"skipped_pre_releases,omitempty"`
}

// Item is one result or error as --output json shows it; docs/cli.md documents
// the fields.
type Item struct {
	Provider   string `json:"provider"`
	Version    string `json:"version,omitempty"`
	Status     string `json:"status"`
	DryRun     bool   `json:"dry_run,omitempty"`
	Unchecked  bool   `json:"unchecked,omitempty"`
	Repository string `json:"repository,omitempty"`
	Tag        string `json:"tag,omitempty"`
	Digest     string `json:"digest,omitempty"`
	// SourceDigest is that of the source's index, where a copy left another one.
	SourceDigest string        `json:"source_digest,omitempty"`
	Packages     []PackageItem `json:"packages,omitempty"`
	// Evidence are the documents that go along with what is sent.
	Evidence []EvidenceItem `json:"evidence,omitempty"`
	// Dropped are the platforms that --force left out.
	Dropped []string `json:"dropped,omitempty"`
	// Slow: writing took so long that jobs at the same time may have overwritten
	// each other.
	Slow bool `json:"slow,omitempty"`
	// Added are the documents that came to packages which were there.
	Added []string `json:"added,omitempty"`
	// Attached are the documents about all platforms that were attached.
	Attached []string `json:"attached,omitempty"`
	// AnnotationsKept: other annotations were asked for than the tag has.
	AnnotationsKept bool `json:"annotations_kept,omitempty"`
	// Published and Eligible are the dates of a release that is held back: when it was
	// published, and from when on it is old enough.
	Published string `json:"published,omitempty"`
	Eligible  string `json:"eligible,omitempty"`
	// Staged is the state of a release to be staged: "pending", or "released" if it
	// already is.
	Staged string `json:"staged,omitempty"`
	// Denial is why it is not to be used.
	Denial *DenialItem `json:"denial,omitempty"`
	// Approval is the approval that promote recorded.
	Approval *artifact.Approval `json:"approval,omitempty"`
	// PendingTagError is why the pending tag of a promoted or denied release was not deleted.
	PendingTagError string `json:"pending_tag_error,omitempty"`
	// VersionTagError is why the tag of a denied version was not deleted. A plain tofu init
	// can still install the version.
	VersionTagError string `json:"version_tag_error,omitempty"`
	// Signature is what the release's signature proves, where it was judged.
	Signature *SignatureItem `json:"signature,omitempty"`
	Error     *ErrorItem     `json:"error,omitempty"`
}

// PackageItem is a package of a release, as --output json shows it.
type PackageItem struct {
	Platform string `json:"platform"`
	Filename string `json:"filename"`
	// Digest and Size are left out where nobody tells before the zip is read, and
	// the size also where no more than the index was looked at.
	Digest string `json:"digest,omitempty"`
	Size   int64  `json:"size,omitempty"`
	H1     string `json:"h1,omitempty"`
	// Action is what was done: "pushed", "mounted", "present", "pulled", "kept";
	// empty in lists.
	Action string `json:"action,omitempty"`
	// Problem is why a server cannot serve the package.
	Problem string `json:"problem,omitempty"`
	// Path is where a pulled package is.
	Path string `json:"path,omitempty"`
	// Evidence are the paths of the documents that were written beside it.
	Evidence []string `json:"evidence,omitempty"`
	// Skipped are documents that are not named like evidence of the provider.
	Skipped []string `json:"skipped,omitempty"`
	// Checksum reports whether a SHA256SUMS document lists the zip.
	Checksum *bool `json:"checksum_verified,omitempty"`
}

// ErrorItem is an error as --output json shows it.
type ErrorItem struct {
	Message  string             `json:"message"`
	Hint     string             `json:"hint,omitempty"`
	Class    provider.ErrorKind `json:"class"`
	ExitCode int                `json:"exit_code"`
}

func describeError(err error) *ErrorItem {
	return &ErrorItem{Message: err.Error(), Hint: explain.Hint(err), Class: provider.KindOf(err), ExitCode: explain.ItemCode(err)}
}

// Failed reports what failed and goes on; repository is empty if it is not known.
func (o *Report) Failed(r provider.Requirement, v provider.Version, repository string, err error) {
	o.failed(failedItem(r, v, repository, err), err)
}

// failed reports the error of an item. An interruption is reported once, at the end.
func (o *Report) failed(i Item, err error) {
	o.mu.Lock()
	o.errors = append(o.errors, err)
	o.results = append(o.results, i)
	o.mu.Unlock()
	if !errors.Is(err, context.Canceled) {
		o.sayError(err)
	}
}

// sayError prints an error, without a hint that was said before.
func (o *Report) sayError(err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	h := explain.Hint(err)
	if o.hinted[h] {
		h = ""
	}
	o.hinted[h] = true
	_, _ = io.WriteString(o.stderr, Printable(explain.Text(err, h)))
}

// done reports an item that succeeded; text is its form for people.
func (o *Report) done(i Item, text string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.results = append(o.results, i)
	if !o.json {
		_, _ = io.WriteString(o.above(), Printable(text))
	}
}

// above is where results go while progress bars may be on the screen.
func (o *Report) above() io.Writer {
	if f, ok := o.stdout.(*os.File); ok && o.bars != nil && term.IsTerminal(int(f.Fd())) {
		return o.bars
	}
	return o.stdout
}

// Finish ends the progress display, prints the JSON object, and gives the error
// of the whole run.
func (o *Report) Finish() error {
	o.EndProgress()
	if err := o.writeDigests(); err != nil {
		return fmt.Errorf("--digest-file: %w", err)
	}
	if o.json {
		if err := printItems(o, "results", o.results, runSummary{counts(o.results), o.plan, o.skipped}, ""); err != nil {
			return err
		}
	} else if o.plan != nil {
		_, _ = fmt.Fprintln(o.stdout, o.plan)
	}
	return explain.Items(len(o.results)-len(o.errors)-counts(o.results)[statusHeld], o.errors)
}

// writeDigests writes --digest-file, when there is a digest to write.
func (o *Report) writeDigests() error {
	if o.DigestFile == "" || len(o.digests) == 0 {
		return nil
	}
	text := strings.Join(o.digests, "\n") + "\n"
	if info, err := os.Stat(o.DigestFile); err == nil && !info.Mode().IsRegular() {
		// A pipe or /dev/stdout is written to and not replaced.
		return os.WriteFile(o.DigestFile, []byte(text), 0o644)
	}
	return atomicfile.Write(o.DigestFile, 0o644, func(w io.Writer) error {
		_, err := io.WriteString(w, text)
		return err
	})
}

// Warn prints a line that has to be seen, also with --quiet.
func (o *Report) Warn(format string, args ...any) {
	o.mu.Lock()
	defer o.mu.Unlock()
	_, _ = io.WriteString(o.stderr, Printable(Continued(fmt.Sprintf("warning: "+format, args...)))+"\n")
}

// Note prints a line of progress.
func (o *Report) Note(format string, args ...any) {
	if !o.Quiet {
		o.mu.Lock()
		defer o.mu.Unlock()
		_, _ = io.WriteString(o.stderr, Printable(Continued(fmt.Sprintf(format, args...)))+"\n")
	}
}

// Retried shows that a request is sent again, and why: a slow mirror run has to
// explain itself.
func (o *Report) Retried(r httpclient.Retry) {
	o.Debug.retried(r)
	if r.Host != "" {
		o.Note("no requests to %s for %s, then fewer at once: %v", r.Host, r.Wait.Round(time.Millisecond), r.Cause)
		o.run.tell(&paused{event: event{Event: "pause"}, Host: r.Host, Reason: r.Cause.Error(), Wait: seconds(r.Wait)})
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
	o.run.tell(e)
}

// Progress counts and shows transfers.
func (o *Report) Progress() provider.Progress {
	p := o.run.progress()
	p.Retry = func(what string, err error) {
		o.Note("%s broke off, trying again: %v", what, err)
		o.run.tell(&retried{event: event{Event: "retry"}, What: what, Reason: err.Error()})
	}
	return p
}

// Step shows something that moves no bytes, until done is called.
func (o *Report) Step(format string, args ...any) (done func()) {
	return o.run.step(OneLine(fmt.Sprintf(format, args...)))
}

// EndProgress takes the progress off the screen.
func (o *Report) EndProgress() {
	o.run.tell(displayClosed{})
	o.mu.Lock()
	defer o.mu.Unlock()
	o.stderr = o.Stderr
}

// FinishRun ends a run over several releases, and tells how many of them --fail-fast
// left out; err is that of a context which ended.
func (o *Report) FinishRun(err error) error {
	if n := o.run.planned - len(o.results); err == nil && n > 0 {
		o.Note("%d of %d were not begun, as --fail-fast says", n, o.run.planned)
	}
	return errors.Join(o.Finish(), err)
}
