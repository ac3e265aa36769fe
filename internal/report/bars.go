package report

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"os"
	"sync"
	"time"

	"github.com/vbauerster/mpb/v8"
	"github.com/vbauerster/mpb/v8/decor"
	"golang.org/x/term"
)

const (
	// minBar is the minimum size, in bytes, of a zip that gets a progress bar. Smaller
	// zips are transferred too quickly to need a bar.
	minBar = 1 << 20
	// minBarWidth and maxBarWidth limit the width of bars in columns. Within these
	// limits, a bar takes a third of the terminal's width.
	minBarWidth, maxBarWidth = 20, 60
	// shownFrom is the minimum duration of an activity without transfers. Shorter
	// activities are not shown.
	shownFrom = time.Second
	// perRelease is the number of steps by which a release advances the run's bar. The
	// bar also advances while a release is being transferred.
	perRelease = 1000
)

// canDraw reports whether a file is a terminal that supports bars. The terminal must
// have a size. kind is the value of $TERM and must not be "dumb".
func canDraw(f *os.File, kind string) bool {
	return columnsOf(f) > 0 && kind != "dumb"
}

// columnsOf returns the width of a terminal in columns, or 0 if w is not a terminal or
// the terminal has no size.
func columnsOf(w io.Writer) int {
	f, isFile := w.(*os.File)
	if !isFile {
		return 0
	}
	columns, rows, err := term.GetSize(int(f.Fd()))
	if err != nil || rows == 0 {
		return 0
	}
	return columns
}

// listColumns returns the width of result lists on w, or 0 if w is not a terminal.
func listColumns(w io.Writer) int {
	if f, isFile := w.(*os.File); isFile && term.IsTerminal(int(f.Fd())) {
		return cmp.Or(columnsOf(f), unknownColumns)
	}
	return 0
}

// lineStart moves the cursor to the first column. When the library for progress bars
// clears or draws lines, it assumes that the cursor is in this column. After Ctrl-C,
// however, the terminal shows "^C" before the cursor.
const lineStart = "\r"

// bars draws a bar for each transfer of a large zip, a line for each step, and a bar
// for the run.
type bars struct {
	*mpb.Progress
	run      *run
	terminal *os.File

	mu sync.Mutex
	// drawn contains the bars of transfers and the lines of steps.
	drawn map[any]*mpb.Bar
}

func newBars(terminal *os.File, r *run) *bars {
	width := min(max(columnsOf(terminal)/3, minBarWidth), maxBarWidth)
	return &bars{Progress: mpb.New(mpb.WithOutput(terminal), mpb.WithWidth(width)), run: r, terminal: terminal, drawn: map[any]*mpb.Bar{}}
}

func (b *bars) handle(event any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch e := event.(type) {
	case *runPlanned:
		b.drawn[b.run] = b.drawRun()
	case stepStarted:
		b.drawn[e.step] = b.New(1, mpb.NopStyle(), mpb.PrependDecorators(decor.Name(lineStart), decorate(func(int) string {
			return e.step.name + ": " + formatDuration(time.Since(e.step.started))
		})))
	case stepFinished:
		b.erase(e.step)
	case *transferStarted:
		if total := e.transfer.total; total < 0 || total >= minBar {
			b.drawn[e.transfer] = b.drawTransfer(e.transfer)
		}
	case *transferFinished:
		b.erase(e.transfer)
	case displayClosed:
		_, _ = b.terminal.WriteString(lineStart)
		for drawn := range b.drawn {
			b.erase(drawn)
		}
		b.Wait()
	}
}

func (b *bars) erase(drawn any) {
	if bar := b.drawn[drawn]; bar != nil {
		bar.Abort(true)
		delete(b.drawn, drawn)
	}
}

// drawRun draws the run's bar.
func (b *bars) drawRun() *mpb.Bar {
	return b.MustAdd(1, b.filledTo(b.run.position), mpb.BarPriority(math.MaxInt), mpb.PrependDecorators(decor.Name(lineStart), decor.Name("releases", decor.WCSyncSpaceR)), mpb.AppendDecorators(decorate(func(columns int) string {
		b.run.mu.Lock()
		defer b.run.mu.Unlock()
		return fitting(b.run.state(time.Now()), columns)
	})))
}

func (b *bars) drawTransfer(t *transfer) *mpb.Bar {
	return b.MustAdd(1, b.filledTo(func() (current, total int64) { return t.moved, t.total }),
		mpb.PrependDecorators(decor.Name(lineStart), decorate(func(columns int) string {
			return shortened(fmt.Sprintf("%s %s %s", t.Address.Type, t.Version, t.Platform), columns/2)
		}, decor.WCSyncSpaceR)),
		mpb.AppendDecorators(decorate(func(columns int) string {
			b.run.mu.Lock()
			defer b.run.mu.Unlock()
			return fitting(t.state(time.Now()), columns)
		})),
	)
}

// filledTo returns a function that draws a bar. To get the bar's values, the function
// calls at while b.run is locked.
func (b *bars) filledTo(at func() (current, total int64)) mpb.BarFiller {
	bar := mpb.BarStyle().Build()
	return mpb.BarFillerFunc(func(w io.Writer, s decor.Statistics) error {
		b.run.mu.Lock()
		s.Current, s.Total = at()
		b.run.mu.Unlock()
		return bar.Fill(w, s)
	})
}

// decorate returns a decorator that calls the function of with the number of available
// columns and shows the returned text.
func decorate(of func(columns int) string, c ...decor.WC) decor.Decorator {
	return decor.Any(func(s decor.Statistics) string { return of(s.AvailableWidth) }, c...)
}

// position returns the run's progress and its total, in thousandths of releases. The
// progress never decreases. The caller must hold r.mu.
func (r *run) position() (current, total int64) {
	current = int64(r.finished) * perRelease
	for _, w := range r.activities {
		// A release is complete only when it is finished, even if all bytes have been
		// transferred.
		current += int64(float64(min(w.moved, w.total)) / float64(max(w.total, 1)) * (perRelease - 1))
	}
	r.reached = max(r.reached, current)
	return r.reached, int64(r.planned) * perRelease
}

// state describes the run's progress, bytes, rate, remaining time, and activities
// without transfers. The first description is complete. Shorter ones for narrow
// terminals follow. The total number of bytes is estimated from the progress so far.
// The caller must hold r.mu.
func (r *run) state(now time.Time) []string {
	short := fmt.Sprintf("%d / %d", r.finished, r.planned)
	text := short
	if r.moved > 0 {
		rate := r.meter.Rate(now, r.moved)
		text += "  " + Size(r.moved)
		current, total := r.position()
		estimate := float64(r.moved) * float64(total) / float64(max(current, 1))
		isKnown := current >= total/100 && current < total
		if isKnown {
			text += " of about " + Size(int64(estimate))
		}
		text += fmt.Sprintf("  %s/s", Size(rate))
		if isKnown && rate > 0 {
			rest := remaining(int64(estimate)-r.moved, rate) + " left"
			text, short = text+"  "+rest, short+"  "+rest
		}
	}
	under := r.lasting(now, shownFrom)
	if len(under) == 0 {
		return []string{text, short}
	}
	activity := "  " + under[0]
	if len(under) > 1 {
		activity += fmt.Sprintf(", and %d more", len(under)-1)
	}
	return []string{text + activity, text, short}
}

// state describes a transfer's progress. The first description is complete, for example
// "12.0 MB / 300.0 MB 9.5 MB/s 30 s left". Shorter ones for narrow terminals follow.
// After the last byte, they show how long the registry has been processing the upload.
func (t *transfer) state(now time.Time) []string {
	if !t.full.IsZero() {
		finishing := "finishing: " + formatDuration(now.Sub(t.full))
		return []string{Size(t.total) + ", " + finishing, finishing}
	}
	text := Size(t.moved)
	if t.total > 0 {
		text += " / " + Size(t.total)
	}
	rate := t.meter.Rate(now, t.moved)
	if rate == 0 {
		return []string{text, Size(t.moved)}
	}
	speed := "  " + Size(rate) + "/s"
	if t.total <= 0 {
		return []string{text + speed, Size(t.moved)}
	}
	rest := remaining(t.total-t.moved, rate) + " left"
	return []string{text + speed + "  " + rest, text + "  " + rest, rest}
}

// fitting returns the first text that fits into the given number of columns. If no text
// fits, it returns the last text.
func fitting(texts []string, columns int) string {
	for _, text := range texts {
		if len(text) <= columns {
			return text
		}
	}
	return texts[len(texts)-1]
}

// shortened truncates a string to the given number of columns.
func shortened(text string, columns int) string {
	if runes := []rune(text); len(runes) > columns {
		return string(runes[:max(columns-1, 0)]) + "…"
	}
	return text
}
