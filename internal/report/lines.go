package report

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

const (
	// every is how often lines tell of what is under way.
	every = 10 * time.Second
	// notable is the size, in bytes, from which a transfer has lines of its own
	// however quick it is. Many small zips are told of by the line about all.
	notable = 16 << 20
)

// lines tells of transfers where there is no terminal: every ten seconds of large or
// slow ones, of what takes long without bytes and of the whole run, and when a large
// one has ended. A quick run of small ones has none of it.
type lines struct {
	note  func(format string, args ...any)
	tally *tally
	works *works

	mu             sync.Mutex
	under          map[packageKey]*underway
	expected, done int
	// before is what had moved when the last line about all was written.
	before int64
	// stop ends the goroutine; nil where there is none.
	stop func()
}

// underway is a transfer.
type underway struct {
	name         string
	began        time.Time
	total, moved int64
	// at and before are the time and the bytes of the last line.
	at     time.Time
	before int64
	// full is when all of its bytes had moved, zero before.
	full time.Time
}

func newLines(note func(string, ...any), t *tally, w *works) *lines {
	return &lines{note: note, tally: t, works: w, under: map[packageKey]*underway{}}
}

func (l *lines) progress() provider.Progress {
	return provider.Progress{Begin: l.begin, Advance: l.advance, End: l.end}
}

// step is one of the works: a line tells of it when it takes long.
func (l *lines) step(string) (done func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.start()
	return func() {}
}

// expect begins to tell, of n releases.
func (l *lines) expect(n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.expected = n
	l.start()
}

// start begins to tell.
func (l *lines) start() {
	if l.stop != nil {
		return
	}
	end, ended := make(chan struct{}), make(chan struct{})
	l.stop = sync.OnceFunc(func() {
		close(end)
		<-ended
	})
	go func() {
		defer close(ended)
		ticker := time.NewTicker(every)
		defer ticker.Stop()
		for {
			select {
			case now := <-ticker.C:
				l.tell(now)
			case <-end:
				return
			}
		}
	}()
}

// close says no more.
func (l *lines) close() {
	l.mu.Lock()
	stop := l.stop
	l.mu.Unlock()
	if stop != nil {
		stop()
	}
}

func (l *lines) ended(provider.Address, provider.Version) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.done++
}

func (l *lines) begin(p provider.Package, total int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	l.under[key(p)] = &underway{name: p.Filename, began: now, at: now, total: total}
}

func (l *lines) advance(p provider.Package, n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	t := l.under[key(p)]
	if t == nil {
		return
	}
	if t.moved += int64(n); t.moved == t.total {
		t.full = time.Now()
	}
}

func (l *lines) end(p provider.Package, err error) {
	l.mu.Lock()
	t := l.under[key(p)]
	delete(l.under, key(p))
	l.mu.Unlock()
	if t == nil || err != nil || t.moved < notable {
		return
	}
	took := time.Since(t.began)
	l.note("transferred %s: %s in %s, %s", t.name, Size(t.moved), lasted(took), rate(t.moved, took))
}

// tell writes the lines of a moment.
func (l *lines) tell(now time.Time) {
	l.mu.Lock()
	var said []string
	for _, t := range l.under {
		if t.total < 0 || t.total >= notable || now.Sub(t.began) >= every {
			said = append(said, t.line(now))
		}
	}
	slices.Sort(said)
	said = append(said, l.works.lasting(now, every)...)
	if l.expected > 1 || l.expected == 1 && len(said) == 0 {
		moved := l.tally.moved.Load()
		said = append(said, fmt.Sprintf("%d of %s done, %s moved, %s", l.done, Counted(l.expected, "release"), Size(moved), rate(moved-l.before, every)))
		l.before = moved
	}
	l.mu.Unlock()
	for _, line := range said {
		l.note("%s", line)
	}
}

// line says how far a transfer is, at the pace since its last line.
func (t *underway) line(now time.Time) string {
	if !t.full.IsZero() {
		return fmt.Sprintf("finishing %s: %s moved, %s ago", t.name, Size(t.moved), lasted(now.Sub(t.full)))
	}
	var b strings.Builder
	since, moved := now.Sub(t.at), t.moved-t.before
	fmt.Fprintf(&b, "transferring %s: %s", t.name, Size(t.moved))
	if t.total > 0 {
		fmt.Fprintf(&b, " of %s", Size(t.total))
	}
	fmt.Fprintf(&b, ", %s", rate(moved, since))
	if t.total > t.moved && moved > 0 {
		fmt.Fprintf(&b, ", %s left", left(t.total-t.moved, perSecond(moved, since)))
	}
	t.at, t.before = now, t.moved
	return b.String()
}

// rate writes bytes in a time for people.
func rate(n int64, d time.Duration) string {
	return Size(perSecond(n, d)) + "/s"
}

func perSecond(n int64, d time.Duration) int64 { return int64(float64(n) / max(d.Seconds(), 0.001)) }
