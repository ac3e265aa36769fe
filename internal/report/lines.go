package report

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"
)

const (
	// every is the interval between progress lines.
	every = 10 * time.Second
	// notable is the minimum size, in bytes, of a zip that gets its own progress lines.
	// Smaller zips get progress lines only if their transfer is slow.
	notable = 16 << 20
)

// lines prints progress if stderr is not a terminal. Every ten seconds, it prints large
// or slow transfers, long activities without transfers, and the run's progress. It also
// prints each completed large transfer. A quick run with small transfers prints
// nothing.
type lines struct {
	note func(format string, args ...any)
	run  *run

	begin sync.Once
	// end stops the goroutine and waits for it.
	end func()
}

func newLines(note func(string, ...any), r *run) *lines {
	return &lines{note: note, run: r, end: func() {}}
}

func (l *lines) handle(event any) {
	switch e := event.(type) {
	case *runPlanned, stepStarted:
		l.begin.Do(l.start)
	case *transferFinished:
		if took := time.Since(e.transfer.started); e.Error == nil && e.Bytes >= notable {
			l.note("transferred %s: %s in %s, %s/s", e.Filename, Size(e.Bytes), formatDuration(took), Size(perSecond(e.Bytes, took)))
		}
	case displayClosed:
		l.begin.Do(func() {})
		l.end()
	}
}

func (l *lines) start() {
	stop, stopped := make(chan struct{}), make(chan struct{})
	l.end = sync.OnceFunc(func() {
		close(stop)
		<-stopped
	})
	go func() {
		defer close(stopped)
		ticker := time.NewTicker(every)
		defer ticker.Stop()
		for {
			select {
			case now := <-ticker.C:
				for _, line := range l.at(now) {
					l.note("%s", line)
				}
			case <-stop:
				return
			}
		}
	}()
}

// at returns the progress lines for the given time.
func (l *lines) at(now time.Time) []string {
	r := l.run
	r.mu.Lock()
	defer r.mu.Unlock()
	var all []string
	for _, t := range r.transfers {
		if t.total < 0 || t.total >= notable || now.Sub(t.started) >= every {
			all = append(all, t.line(now))
		}
	}
	slices.Sort(all)
	all = append(all, r.lasting(now, every)...)
	rate := r.meter.Rate(now, r.moved)
	if r.planned > 1 || r.planned == 1 && len(all) == 0 {
		all = append(all, fmt.Sprintf("%d of %s done, %s transferred, %s/s", r.finished, Counted(r.planned, "release"), Size(r.moved), Size(rate)))
	}
	return all
}

// line describes a transfer's progress and its rate since the previous line.
func (t *transfer) line(now time.Time) string {
	if !t.full.IsZero() {
		return fmt.Sprintf("finishing %s: %s transferred %s ago", t.Filename, Size(t.moved), formatDuration(now.Sub(t.full)))
	}
	var b strings.Builder
	rate := t.meter.Rate(now, t.moved)
	fmt.Fprintf(&b, "transferring %s: %s", t.Filename, Size(t.moved))
	if t.total > 0 {
		fmt.Fprintf(&b, " of %s", Size(t.total))
	}
	fmt.Fprintf(&b, ", %s/s", Size(rate))
	if t.total > t.moved && rate > 0 {
		fmt.Fprintf(&b, ", %s left", remaining(t.total-t.moved, rate))
	}
	return b.String()
}

func perSecond(n int64, d time.Duration) int64 { return int64(float64(n) / max(d.Seconds(), 0.001)) }
