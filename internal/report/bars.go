package report

import (
	"fmt"
	"math"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/vbauerster/mpb/v8"
	"github.com/vbauerster/mpb/v8/decor"

	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

const (
	// minBar is the size, in bytes, below which a zip has no bar: many of those move at
	// once, and each is gone before it could be read.
	minBar = 1 << 20
	// barWidth is what a bar has of a line where there is room.
	barWidth = 40
	// shownFrom is how long something without bytes goes on before it is shown.
	shownFrom = time.Second
	// perRelease is the length of a release in the bar of the whole run, which also
	// advances with the bytes of unfinished releases.
	perRelease = 1000
)

// bars draws a bar for each large zip under way, and a line about the whole run.
type bars struct {
	*mpb.Progress
	terminal *os.File
	tally    *tally
	works    *works

	mu   sync.Mutex
	bars map[packageKey]*bar
	all  *mpb.Bar
	// shares has the progress of unfinished releases; their keys have no platform. reached
	// is the position of the bar of the whole run, which never goes back.
	shares  map[packageKey]*share
	reached int64

	// done is the number of finished releases. It is read while a bar is drawn, when a
	// goroutine that waits for this bar may hold mu.
	done atomic.Int64
}

// share is the progress of a release, in bytes.
type share struct{ moved, total int64 }

// bar is that of a transfer.
type bar struct {
	*mpb.Bar
	mu   sync.Mutex
	pace pace
	// full is when all of its bytes had moved, zero before.
	full time.Time
}

func newBars(terminal *os.File, t *tally, w *works) *bars {
	return &bars{Progress: mpb.New(mpb.WithOutput(terminal), mpb.WithWidth(barWidth)), terminal: terminal, tally: t, works: w, bars: map[packageKey]*bar{}, shares: map[packageKey]*share{}}
}

// packageKey tells packages apart. It is no text: each read of a transfer asks for it.
type packageKey struct {
	address  provider.Address
	version  provider.Version
	platform provider.Platform
}

func key(p provider.Package) packageKey { return packageKey{p.Address, p.Version, p.Platform} }

func (b *bars) progress() provider.Progress {
	return provider.Progress{Begin: b.begin, Advance: b.advance, End: b.end}
}

// step has a line of text, with the time that it takes.
func (b *bars) step(name string) (done func()) {
	began := time.Now()
	line := b.New(1, mpb.NopStyle(), mpb.BarRemoveOnComplete(), mpb.PrependDecorators(decor.Any(func(decor.Statistics) string {
		return name + ": " + lasted(time.Since(began))
	})))
	return func() { line.Abort(true) }
}

// expect draws the line about the whole run.
func (b *bars) expect(n int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	var whole pace
	b.all = b.AddBar(int64(n)*perRelease,
		mpb.BarPriority(math.MaxInt),
		mpb.BarRemoveOnComplete(),
		mpb.PrependDecorators(decor.Name("releases", decor.WCSyncSpaceR)),
		mpb.AppendDecorators(decor.Any(func(decor.Statistics) string {
			return fmt.Sprintf("%d / %d", b.done.Load(), n) + b.whole(&whole)
		})),
	)
}

// whole says what the run has moved, how fast it is, and what it does without bytes.
func (b *bars) whole(p *pace) string {
	now, text := time.Now(), ""
	if moved := b.tally.moved.Load(); moved > 0 {
		text = fmt.Sprintf("  %s  %s/s", Size(moved), Size(p.rate(now, moved)))
	}
	under := b.works.lasting(now, shownFrom)
	if len(under) > 0 {
		text += "  " + under[0]
	}
	if len(under) > 1 {
		text += fmt.Sprintf(", and %d more", len(under)-1)
	}
	return text
}

// ended counts a release that has ended.
func (b *bars) ended(a provider.Address, v provider.Version) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.done.Add(1)
	delete(b.shares, packageKey{address: a, version: v})
	b.move()
}

// move updates the bar of the whole run.
func (b *bars) move() {
	if b.all == nil {
		return
	}
	at := b.done.Load() * perRelease
	for _, s := range b.shares {
		// Only ended completes a release, however many bytes have moved.
		at += int64(float64(min(s.moved, s.total)) / float64(max(s.total, 1)) * (perRelease - 1))
	}
	if at > b.reached {
		b.reached = at
		b.all.SetCurrent(at)
	}
}

// close takes everything off the screen. More calls do nothing.
func (b *bars) close() {
	b.mu.Lock()
	if b.all != nil {
		b.all.Abort(true)
	}
	b.mu.Unlock()
	b.Wait()
}

func (b *bars) begin(p provider.Package, total int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	release := packageKey{address: p.Address, version: p.Version}
	if b.shares[release] == nil {
		b.shares[release] = &share{}
	}
	b.shares[release].total += max(total, 0)
	if 0 <= total && total < minBar {
		return
	}
	one := &bar{}
	// It is not complete, and so removed, before the transfer has ended.
	one.Bar = b.AddBar(max(total+1, 0),
		mpb.BarRemoveOnComplete(),
		mpb.PrependDecorators(decor.Any(func(s decor.Statistics) string {
			return shortened(fmt.Sprintf("%s %s %s", p.Address.Type, p.Version, p.Platform), s.AvailableWidth/2)
		}, decor.WCSyncSpaceR)),
		mpb.AppendDecorators(decor.Any(func(s decor.Statistics) string {
			return fitting(one.state(s.Current, total), s.AvailableWidth)
		})),
	)
	b.bars[key(p)] = one
}

// state describes the progress of a transfer, followed by shorter forms for narrow
// terminals: "12.0 MB / 300.0 MB  9.5 MB/s  30 s left". After the last byte, it describes
// how long the registry has been processing the upload.
func (b *bar) state(moved, total int64) []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := time.Now()
	if total > 0 && moved >= total {
		if b.full.IsZero() {
			b.full = now
		}
		finishing := "finishing: " + lasted(now.Sub(b.full))
		return []string{Size(total) + ", " + finishing, finishing}
	}
	text := Size(moved)
	if total > 0 {
		text += " / " + Size(total)
	}
	rate := b.pace.rate(now, moved)
	if rate == 0 {
		return []string{text, Size(moved)}
	}
	speed := "  " + Size(rate) + "/s"
	if total <= 0 {
		return []string{text + speed, Size(moved)}
	}
	rest := left(total-moved, rate) + " left"
	return []string{text + speed + "  " + rest, text + "  " + rest, rest}
}

// fitting returns the first text that fits into the columns, or the last text if none
// does.
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

func (b *bars) advance(p provider.Package, n int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if one := b.bars[key(p)]; one != nil {
		one.IncrBy(n)
	}
	if s := b.shares[packageKey{address: p.Address, version: p.Version}]; s != nil {
		s.moved += int64(n)
		b.move()
	}
}

func (b *bars) end(p provider.Package, _ error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if one := b.bars[key(p)]; one != nil {
		one.Abort(true)
		delete(b.bars, key(p))
	}
}
