package report

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"
)

const (
	// every is how often lines describe what is under way.
	every = 10 * time.Second
	// notable is the size, in bytes, from which a transfer has lines of its own
	// however quick it is. Many small zips are described by the line about all.
	notable = 16 << 20
)

// lines shows progress without a terminal: every ten seconds large or slow transfers, what
// takes long without bytes and the whole run, and each large transfer when it has ended. A
// quick run of small ones has none of it.
type lines struct {
	note func(format string, args ...any)
	run  *run

	begin sync.Once
	// end ends the goroutine, and waits for it.
	end func()
}

func newLines(note func(string, ...any), r *run) *lines {
	return &lines{note: note, run: r, end: func() {}}
}

func (l *lines) hear(happened any) {
	switch e := happened.(type) {
	case *runPlanned, stepStarted:
		l.begin.Do(l.start)
	case *transferFinished:
		if took := time.Since(e.transfer.began); e.Error == nil && e.Bytes >= notable {
			l.note("transferred %s: %s in %s, %s/s", e.Filename, Size(e.Bytes), lasted(took), Size(perSecond(e.Bytes, took)))
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

// at describes a moment.
func (l *lines) at(now time.Time) []string {
	r := l.run
	r.mu.Lock()
	defer r.mu.Unlock()
	var all []string
	for _, t := range r.transfers {
		if t.total < 0 || t.total >= notable || now.Sub(t.began) >= every {
			all = append(all, t.line(now))
		}
	}
	slices.Sort(all)
	all = append(all, r.lasting(now, every)...)
	rate := r.pace.rate(now, r.moved)
	if r.planned > 1 || r.planned == 1 && len(all) == 0 {
		all = append(all, fmt.Sprintf("%d of %s done, %s moved, %s/s", r.ended, Counted(r.planned, "release"), Size(r.moved), Size(rate)))
	}
	return all
}

// line says how far a transfer is, at the pace since its last line.
func (t *transfer) line(now time.Time) string {
	if !t.full.IsZero() {
		return fmt.Sprintf("finishing %s: %s moved, %s ago", t.Filename, Size(t.moved), lasted(now.Sub(t.full)))
	}
	var b strings.Builder
	rate := t.pace.rate(now, t.moved)
	fmt.Fprintf(&b, "transferring %s: %s", t.Filename, Size(t.moved))
	if t.total > 0 {
		fmt.Fprintf(&b, " of %s", Size(t.total))
	}
	fmt.Fprintf(&b, ", %s/s", Size(rate))
	if t.total > t.moved && rate > 0 {
		fmt.Fprintf(&b, ", %s left", left(t.total-t.moved, rate))
	}
	return b.String()
}

func perSecond(n int64, d time.Duration) int64 { return int64(float64(n) / max(d.Seconds(), 0.001)) }
