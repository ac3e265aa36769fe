package report

import (
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
	// minBar is the minimum size of a zip that gets a progress bar, in bytes. Smaller zips
	// are transferred too quickly.
	minBar = 1 << 20
	// barWidth is the maximum width of a bar, in columns.
	barWidth = 40
	// shownFrom is the minimum duration of an activity without transfers. Shorter
	// activities are not shown.
	shownFrom = time.Second
	// perRelease is the length of a release in the run's bar. The bar also advances
	// while a release is being transferred.
	perRelease = 1000
)

// canDraw reports whether a file is a terminal that supports bars. The terminal must
// have a size, and kind, the value of $TERM, must not be "dumb".
func canDraw(f *os.File, kind string) bool {
	fd := int(f.Fd())
	if !term.IsTerminal(fd) || kind == "dumb" {
		return false
	}
	columns, rows, err := term.GetSize(fd)
	return err == nil && columns > 0 && rows > 0
}

// bars draws a bar for each transfer of a large zip, a line for each step, and a bar for
// the run.
type bars struct {
	*mpb.Progress
	run *run

	mu sync.Mutex
	// drawn contains the bars of transfers and the lines of steps.
	drawn map[any]*mpb.Bar
}

func newBars(terminal *os.File, r *run) *bars {
	return &bars{Progress: mpb.New(mpb.WithOutput(terminal), mpb.WithWidth(barWidth)), run: r, drawn: map[any]*mpb.Bar{}}
}

func (b *bars) handle(event any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch e := event.(type) {
	case *runPlanned:
		b.drawn[b.run] = b.drawRun()
	case stepStarted:
		b.drawn[e.step] = b.New(1, mpb.NopStyle(), mpb.PrependDecorators(decorate(func(int) string {
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

// drawRun draws the run's bar, which never moves backward.
func (b *bars) drawRun() *mpb.Bar {
	var reached int64
	return b.MustAdd(1, b.filledTo(func() (current, total int64) {
		current = int64(b.run.finished) * perRelease
		for _, w := range b.run.activities {
			// A release is complete only when it is finished, even if all bytes have
			// been transferred.
			current += int64(float64(min(w.moved, w.total)) / float64(max(w.total, 1)) * (perRelease - 1))
		}
		reached = max(reached, current)
		return reached, int64(b.run.planned) * perRelease
	}), mpb.BarPriority(math.MaxInt), mpb.PrependDecorators(decor.Name("releases", decor.WCSyncSpaceR)), mpb.AppendDecorators(decorate(func(int) string {
		b.run.mu.Lock()
		defer b.run.mu.Unlock()
		return b.run.state(time.Now())
	})))
}

func (b *bars) drawTransfer(t *transfer) *mpb.Bar {
	return b.MustAdd(1, b.filledTo(func() (current, total int64) { return t.moved, t.total }),
		mpb.PrependDecorators(decorate(func(columns int) string {
			return shortened(fmt.Sprintf("%s %s %s", t.Address.Type, t.Version, t.Platform), columns/2)
		}, decor.WCSyncSpaceR)),
		mpb.AppendDecorators(decorate(func(columns int) string {
			b.run.mu.Lock()
			defer b.run.mu.Unlock()
			return fitting(t.state(time.Now()), columns)
		})),
	)
}

// filledTo returns the function that draws a bar. The bar shows the values of at, which
// is called with b.run locked.
func (b *bars) filledTo(at func() (current, total int64)) mpb.BarFiller {
	bar := mpb.BarStyle().Build()
	return mpb.BarFillerFunc(func(w io.Writer, s decor.Statistics) error {
		b.run.mu.Lock()
		s.Current, s.Total = at()
		b.run.mu.Unlock()
		return bar.Fill(w, s)
	})
}

// decorate shows a text that has at most the given number of columns.
func decorate(of func(columns int) string, c ...decor.WC) decor.Decorator {
	return decor.Any(func(s decor.Statistics) string { return of(s.AvailableWidth) }, c...)
}

// state describes the run's progress, rate, and activities without transfers. The
// caller must hold r.mu.
func (r *run) state(now time.Time) string {
	text := fmt.Sprintf("%d / %d", r.finished, r.planned)
	if r.moved > 0 {
		text += fmt.Sprintf("  %s  %s/s", Size(r.moved), Size(r.meter.Rate(now, r.moved)))
	}
	under := r.lasting(now, shownFrom)
	if len(under) > 0 {
		text += "  " + under[0]
	}
	if len(under) > 1 {
		text += fmt.Sprintf(", and %d more", len(under)-1)
	}
	return text
}

// state describes a transfer's progress in several forms, for example "12.0 MB / 300.0
// MB  9.5 MB/s  30 s left". Shorter forms for narrow terminals follow. After the last
// byte, state describes how long the registry has been processing the upload.
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

// fitting returns the first text that fits into the columns. If no text fits, it
// returns the last text.
func fitting(texts []string, columns int) string {
	for _, text := range texts {
		if len(text) <= columns {
			return text
		}
	}
	return texts[len(texts)-1]
}

// shortened truncates a text to a number of columns.
func shortened(text string, columns int) string {
	if runes := []rune(text); len(runes) > columns {
		return string(runes[:max(columns-1, 0)]) + "…"
	}
	return text
}
