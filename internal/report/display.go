package report

import (
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/term"

	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// display shows what is under way: bars on a terminal, lines elsewhere, and nothing
// with --quiet. Its functions are called by several goroutines at once.
type display interface {
	progress() provider.Progress
	// step shows what goes on before it is known how many releases there are, until
	// done is called.
	step(name string) (done func())
	// expect says how many releases there are to be.
	expect(n int)
	// ended counts one.
	ended(a provider.Address, v provider.Version)
	// close shows nothing any more. More calls do nothing.
	close()
}

// nothing is the display of --quiet.
type nothing struct{}

func (nothing) progress() provider.Progress              { return provider.Progress{} }
func (nothing) step(string) func()                       { return func() {} }
func (nothing) expect(int)                               {}
func (nothing) ended(provider.Address, provider.Version) {}
func (nothing) close()                                   {}

// canDraw tells whether a file is a terminal that bars can be drawn on: not one of
// an editor or a test whose kind, $TERM, is dumb, or that has no columns.
func canDraw(f *os.File, kind string) bool {
	fd := int(f.Fd())
	if !term.IsTerminal(fd) || kind == "dumb" {
		return false
	}
	columns, rows, err := term.GetSize(fd)
	return err == nil && columns > 0 && rows > 0
}

// works are what goes on without a display of its own, as hashing, unpacking and
// waiting for an answer: releases that are worked on, and steps that have a name.
type works struct {
	mu  sync.Mutex
	all map[string]time.Time
	// moving counts the transfers of a release.
	moving map[string]int
}

func newWorks() *works { return &works{all: map[string]time.Time{}, moving: map[string]int{}} }

// begin notes a work by what it is called; end what is no longer gone on with.
func (w *works) begin(name string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.all[name] = time.Now()
}

func (w *works) end(name string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.all, name)
}

// progress counts transfers, which have a display of their own.
func (w *works) progress() provider.Progress {
	add := func(p provider.Package, n int) {
		w.mu.Lock()
		defer w.mu.Unlock()
		name := workOn(p.Address, p.Version)
		if w.moving[name] += n; w.moving[name] <= 0 {
			delete(w.moving, name)
		}
		if _, under := w.all[name]; under {
			w.all[name] = time.Now() // what it does from now on without bytes
		}
	}
	return provider.Progress{
		Begin: func(p provider.Package, _ int64) { add(p, 1) },
		End:   func(p provider.Package, _ error) { add(p, -1) },
	}
}

// workOn is what the work on a release is called.
func workOn(a provider.Address, v provider.Version) string {
	return "working on " + a.Namespace + "/" + a.Type + " " + v.String()
}

// lasting gives what goes on without bytes for that long at least, the oldest first:
// "working on hashicorp/aws 5.64.0: 12 s".
func (w *works) lasting(now time.Time, atLeast time.Duration) []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	var names []string
	for name, began := range w.all {
		if now.Sub(began) >= atLeast && w.moving[name] == 0 {
			names = append(names, name)
		}
	}
	slices.SortFunc(names, func(a, b string) int {
		if c := w.all[a].Compare(w.all[b]); c != 0 {
			return c
		}
		return strings.Compare(a, b)
	})
	for i, name := range names {
		names[i] = name + ": " + lasted(now.Sub(w.all[name]))
	}
	return names
}
