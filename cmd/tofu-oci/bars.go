package main

import (
	"fmt"
	"math"
	"os"
	"sync"
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
}

// bar is that of a transfer.
type bar struct {
	*mpb.Bar
	mu   sync.Mutex
	pace pace
	// full is when all of its bytes had moved, zero before.
	full time.Time
}

func newBars(terminal *os.File, t *tally, w *works) *bars {
	return &bars{Progress: mpb.New(mpb.WithOutput(terminal), mpb.WithWidth(barWidth)), terminal: terminal, tally: t, works: w, bars: map[packageKey]*bar{}}
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
	b.all = b.AddBar(int64(n),
		mpb.BarPriority(math.MaxInt),
		mpb.BarRemoveOnComplete(),
		mpb.PrependDecorators(decor.Name("releases", decor.WCSyncSpaceR)),
		mpb.AppendDecorators(decor.CountersNoUnit("%d / %d"), decor.Any(func(decor.Statistics) string {
			return b.whole(&whole)
		})),
	)
}

// whole says what the run has moved, how fast it is, and what it does without bytes.
func (b *bars) whole(p *pace) string {
	now, text := time.Now(), ""
	if moved := b.tally.moved.Load(); moved > 0 {
		text = fmt.Sprintf("  %s  %s/s", size(moved), size(p.rate(now, moved)))
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
func (b *bars) ended() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.all != nil {
		b.all.Increment()
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
	if 0 <= total && total < minBar {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	one := &bar{}
	// It is not complete, and so removed, before the transfer has ended.
	one.Bar = b.AddBar(max(total+1, 0),
		mpb.BarRemoveOnComplete(),
		mpb.PrependDecorators(decor.Name(fmt.Sprintf("%s %s %s", p.Address.Type, p.Version, p.Platform), decor.WCSyncSpaceR)),
		mpb.AppendDecorators(decor.Any(func(s decor.Statistics) string { return one.state(s.Current, total) })),
	)
	b.bars[key(p)] = one
}

// state says how far a transfer is: "12.0 MB / 300.0 MB  9.5 MB/s  30 s", or that it
// waits, as for a registry that hashes what it got.
func (b *bar) state(moved, total int64) string {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := time.Now()
	if total > 0 && moved >= total {
		if b.full.IsZero() {
			b.full = now
		}
		return fmt.Sprintf("%s, finishing: %s", size(total), lasted(now.Sub(b.full)))
	}
	text := size(moved)
	if total > 0 {
		text += " / " + size(total)
	}
	if rate := b.pace.rate(now, moved); rate > 0 {
		text += "  " + size(rate) + "/s"
		if total > 0 {
			text += "  " + left(total-moved, rate) + " left"
		}
	}
	return text
}

func (b *bars) advance(p provider.Package, n int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if one := b.bars[key(p)]; one != nil {
		one.IncrBy(n)
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
