package main

import (
	"fmt"
	"math"
	"os"
	"sync"

	"github.com/vbauerster/mpb/v8"
	"github.com/vbauerster/mpb/v8/decor"

	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// progress is for all that watch transfers: they are counted, are events, and are
// shown, as bars on a terminal and as plain lines elsewhere.
func (o *output) progress() provider.Progress {
	all := []provider.Progress{o.tally.progress(), o.events.progress(), {
		Retry: func(what string, err error) { o.note("%s broke off, trying again: %v", what, err) },
	}}
	if o.bars != nil {
		all = append(all, provider.Progress{Begin: o.bars.begin, Advance: o.bars.advance, End: o.bars.end})
	}
	if o.lines != nil {
		all = append(all, o.lines.progress())
	}
	return together(all)
}

// together tells several of the same.
func together(all []provider.Progress) provider.Progress {
	return provider.Progress{
		Begin: func(p provider.Package, total int64) {
			for _, one := range all {
				if one.Begin != nil {
					one.Begin(p, total)
				}
			}
		},
		Advance: func(p provider.Package, n int) {
			for _, one := range all {
				if one.Advance != nil {
					one.Advance(p, n)
				}
			}
		},
		End: func(p provider.Package, err error) {
			for _, one := range all {
				if one.End != nil {
					one.End(p, err)
				}
			}
		},
		Retry: func(what string, err error) {
			for _, one := range all {
				if one.Retry != nil {
					one.Retry(what, err)
				}
			}
		},
	}
}

// expect begins to tell about a run's n releases.
func (o *output) expect(n int) {
	o.expected = n
	o.events.runPlanned(n)
	if o.bars != nil && n > 1 {
		o.bars.expect(n)
	}
	if o.lines != nil {
		o.lines.expect(n)
	}
}

// notBegun tells how many of the expected releases --fail-fast left out.
func (o *output) notBegun() {
	if n := o.expected - len(o.results); n > 0 {
		o.note("%d of %d were not begun, as --fail-fast says", n, o.expected)
	}
}

// ended tells that work on a release has ended, in any order; results are told in
// theirs.
func (o *output) ended(i item) {
	o.events.itemFinished(i)
	if o.bars != nil {
		o.bars.ended()
	}
	if o.lines != nil {
		o.lines.itemEnded()
	}
}

// endProgress takes the progress display off the screen.
func (o *output) endProgress() {
	if o.lines != nil {
		o.lines.close()
	}
	if o.bars != nil {
		o.bars.close()
		o.mu.Lock()
		defer o.mu.Unlock()
		o.stderr = o.bars.terminal
	}
}

// minBar is the size, in bytes, below which a zip has no bar: many of those move at
// once, and each is gone before it could be read.
const minBar = 1 << 20

// bars draws a bar for each large zip under way, and a line about the whole run.
type bars struct {
	*mpb.Progress
	terminal *os.File
	tally    *tally

	mu   sync.Mutex
	bars map[packageKey]*mpb.Bar
	all  *mpb.Bar // nil where one release is expected
}

func newBars(terminal *os.File, t *tally) *bars {
	return &bars{Progress: mpb.New(mpb.WithOutput(terminal), mpb.WithWidth(40)), terminal: terminal, tally: t, bars: map[packageKey]*mpb.Bar{}}
}

// packageKey tells packages apart. It is no text: each read of a transfer asks for it.
type packageKey struct {
	address  provider.Address
	version  provider.Version
	platform provider.Platform
}

func key(p provider.Package) packageKey { return packageKey{p.Address, p.Version, p.Platform} }

// expect draws the line about the whole run.
func (b *bars) expect(n int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.all = b.AddBar(int64(n),
		mpb.BarPriority(math.MaxInt),
		mpb.BarRemoveOnComplete(),
		mpb.PrependDecorators(decor.Name("releases", decor.WCSyncSpaceR)),
		mpb.AppendDecorators(decor.CountersNoUnit("%d / %d"), decor.Any(func(decor.Statistics) string {
			return "  " + size(b.tally.moved.Load())
		})),
	)
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
	b.bars[key(p)] = b.AddBar(max(total, 0),
		mpb.BarRemoveOnComplete(),
		mpb.PrependDecorators(decor.Name(fmt.Sprintf("%s %s %s", p.Address.Type, p.Version, p.Platform), decor.WCSyncSpaceR)),
		mpb.AppendDecorators(decor.CountersKiloByte("% .1f / % .1f"), decor.AverageSpeed(decor.SizeB1000(0), "  % .1f")),
	)
}

func (b *bars) advance(p provider.Package, n int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if bar := b.bars[key(p)]; bar != nil {
		bar.IncrBy(n)
	}
}

func (b *bars) end(p provider.Package, _ error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if bar := b.bars[key(p)]; bar != nil {
		bar.Abort(true)
		delete(b.bars, key(p))
	}
}
