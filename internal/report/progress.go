package report

import (
	"errors"
	"fmt"

	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// progress is for all that watch transfers: they are counted, are events, and are
// shown, as bars on a terminal and as plain lines elsewhere.
func (o *Report) Progress() provider.Progress {
	all := []provider.Progress{o.tally.progress(), o.events.progress(), {
		Retry: func(what string, err error) { o.Note("%s broke off, trying again: %v", what, err) },
	}}
	return together(append(all, o.works.progress(), o.display.progress()))
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
func (o *Report) Expect(n int) {
	o.expected = n
	o.events.runPlanned(n)
	o.display.expect(n)
}

// step shows that something goes on which moves no bytes, until done is called.
func (o *Report) Step(format string, args ...any) (done func()) {
	name := OneLine(fmt.Sprintf(format, args...))
	o.works.begin(name)
	shown := o.display.step(name)
	return func() {
		shown()
		o.works.end(name)
	}
}

// begun tells that work on a release begins.
func (o *Report) Begun(a provider.Address, v provider.Version) {
	o.works.begin(workOn(a, v))
	o.events.itemStarted(a, v)
}

// finishRun ends a run over several releases, and tells how many of them --fail-fast
// left out; err is that of a context which ended.
func (o *Report) FinishRun(err error) error {
	if n := o.expected - len(o.results); err == nil && n > 0 {
		o.Note("%d of %d were not begun, as --fail-fast says", n, o.expected)
	}
	return errors.Join(o.Finish(), err)
}

// ended tells that work on a release has ended, in any order; results are told in
// theirs.
func (o *Report) Ended(a provider.Address, v provider.Version, i Item) {
	o.works.end(workOn(a, v))
	o.events.itemFinished(i)
	o.display.ended(a, v)
}

// endProgress takes the progress display off the screen.
func (o *Report) EndProgress() {
	o.display.close()
	if o.bars != nil {
		o.mu.Lock()
		defer o.mu.Unlock()
		o.stderr = o.bars.terminal
	}
}
