package main

import (
	"fmt"
	"os"
	"sync"

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

// bars draws a bar for each zip under way.
type bars struct {
	*mpb.Progress
	mu   sync.Mutex
	bars map[string]*mpb.Bar
}

func newBars(terminal *os.File) *bars {
	return &bars{Progress: mpb.New(mpb.WithOutput(terminal), mpb.WithWidth(40)), bars: map[string]*mpb.Bar{}}
}

func key(p provider.Package) string {
	return p.Address.String() + "@" + p.Version.String() + "/" + p.Platform.String()
}

func (b *bars) begin(p provider.Package, total int64) {
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
