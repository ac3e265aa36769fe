package main

import (
	"fmt"
	"math"
	"os"
	"sync"
	"sync/atomic"

	"github.com/vbauerster/mpb/v8"
	"github.com/vbauerster/mpb/v8/decor"

	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// progress shows transfers: bars on a terminal, plain lines elsewhere.
func (o *output) progress() provider.Progress {
	if o.quiet {
		return provider.Progress{}
	}
	retry := func(what string, err error) { o.note("%s broke off, trying again: %v", what, err) }
	if o.bars != nil {
		return provider.Progress{Begin: o.bars.begin, Advance: o.bars.advance, End: o.bars.end, Retry: retry}
	}
	return provider.Progress{
		Begin: func(p provider.Package, total int64) {
			o.note("transferring %s %s", p.Filename, size(total))
		},
		Retry: retry,
	}
}

// expect shows a line about all of a run's n releases below the bars.
func (o *output) expect(n int) {
	o.expected = n
	if o.bars != nil && n > 1 {
		o.bars.expect(n)
	}
}

// notBegun tells how many of the expected releases --fail-fast left out.
func (o *output) notBegun() {
	if n := o.expected - len(o.results); n > 0 {
		o.note("%d of %d were not begun, as --fail-fast says", n, o.expected)
	}
}

// ended counts a release there.
func (o *output) ended() {
	if o.bars != nil {
		o.bars.ended()
	}
}

// minBar is the size, in bytes, below which a zip has no bar: many of those move at
// once, and each is gone before it could be read.
const minBar = 1 << 20

// bars draws a bar for each large zip under way, and a line about the whole run.
type bars struct {
	*mpb.Progress
	moved atomic.Int64

	mu   sync.Mutex
	bars map[string]*mpb.Bar
	all  *mpb.Bar // nil where one release is expected
}

func newBars(terminal *os.File) *bars {
	return &bars{Progress: mpb.New(mpb.WithOutput(terminal), mpb.WithWidth(40)), bars: map[string]*mpb.Bar{}}
}

func key(p provider.Package) string {
	return p.Address.String() + "@" + p.Version.String() + "/" + p.Platform.String()
}

// expect draws the line about the whole run.
func (b *bars) expect(n int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.all = b.AddBar(int64(n),
		mpb.BarPriority(math.MaxInt),
		mpb.BarRemoveOnComplete(),
		mpb.PrependDecorators(decor.Name("releases", decor.WCSyncSpaceR)),
		mpb.AppendDecorators(decor.CountersNoUnit("%d / %d"), decor.Any(func(decor.Statistics) string {
			return "  " + size(b.moved.Load())
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
	b.moved.Add(int64(n))
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
