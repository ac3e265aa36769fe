package report

import (
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// TestLines checks the progress lines of transfers, with a fake clock.
func TestLines(t *testing.T) {
	t.Parallel()
	const mb = 1000 * 1000
	large, small := lineOf(t, "hashicorp/large"), lineOf(t, "hashicorp/small")
	// transfer transfers n bytes each second, for the given number of seconds.
	transfer := func(o provider.Progress, p provider.Package, n, seconds int) {
		for range seconds {
			time.Sleep(time.Second)
			o.Advance(p, n)
		}
	}
	for name, test := range map[string]struct {
		releases int
		run      func(o provider.Progress, ended func())
		want     []string
	}{
		"quick": {2, func(o provider.Progress, ended func()) {
			o.Begin(small, 8*mb)
			transfer(o, small, mb, 8)
			o.End(small, nil)
			ended()
			ended()
		}, nil},
		"one large": {1, func(o provider.Progress, ended func()) {
			o.Begin(large, 300*mb)
			transfer(o, large, 10*mb, 15)
			time.Sleep(8 * time.Second)
			transfer(o, large, 25*mb, 6)
			o.End(large, nil)
			ended()
		}, []string{
			"transferring large.zip: 90.0 MB of 300.0 MB, 9.5 MB/s, 22 s left",
			"transferring large.zip: 150.0 MB of 300.0 MB, 6.0 MB/s, 25 s left",
			"transferred large.zip: 300.0 MB in 29 s, 10.3 MB/s",
		}},
		"stalled": {1, func(o provider.Progress, _ func()) {
			o.Begin(large, -1)
			transfer(o, large, mb, 2)
			time.Sleep(20 * time.Second)
			o.End(large, errors.New("reset"))
		}, []string{
			"transferring large.zip: 2.0 MB, 210.5 kB/s",
			"transferring large.zip: 2.0 MB, 0 B/s",
		}},
		"finishing": {1, func(o provider.Progress, ended func()) {
			o.Begin(large, 20*mb)
			transfer(o, large, 10*mb, 2)
			time.Sleep(20 * time.Second)
			o.End(large, nil)
			ended()
		}, []string{
			"finishing large.zip: 20.0 MB transferred 7.5 s ago",
			"finishing large.zip: 20.0 MB transferred 18 s ago",
			"transferred large.zip: 20.0 MB in 22 s, 909.1 kB/s",
		}},
		"many": {3, func(o provider.Progress, ended func()) {
			for range 3 {
				o.Begin(small, 6*mb)
				transfer(o, small, mb, 6)
				o.End(small, nil)
				ended()
			}
		}, []string{
			"1 of 3 releases done, 9.0 MB transferred, 900.0 kB/s",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var mu sync.Mutex
				var lines []string
				r := newRun()
				l := newLines(func(format string, args ...any) {
					mu.Lock()
					defer mu.Unlock()
					lines = append(lines, fmt.Sprintf(format, args...))
				}, r)
				r.listeners = []listener{l}
				r.plan(test.releases)
				// Ticks occur between full seconds, so that their order is defined.
				time.Sleep(500 * time.Millisecond)
				test.run(r.progress(), func() { r.itemFinished(large.Address, large.Version, Item{}) })
				r.notify(displayClosed{})
				r.notify(displayClosed{})
				if diff := cmp.Diff(test.want, lines); diff != "" {
					t.Errorf("(-want +got)\n%s", diff)
				}
			})
		})
	}
}

func lineOf(t *testing.T, address string) provider.Package {
	t.Helper()
	a, err := provider.ParseAddress(address)
	if err != nil {
		t.Fatal(err)
	}
	return provider.Package{Address: a, Filename: a.Type + ".zip"}
}

// TestLine checks that the summary line counts each status, and that the statuses have
// a fixed order.
func TestLine(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		results []Item
		moved   int64
		took    time.Duration
		want    string
	}{
		"mirror": {
			[]Item{{Status: "failed"}, {Status: "unchanged"}, {Status: "created"}, {Status: "created"}}, 212_000_000, 41 * time.Second,
			"2 created, 1 unchanged, 1 failed · 212.0 MB sent · 41 s",
		},
		"nothing moved": {[]Item{{Status: "unchanged"}}, 0, 61 * time.Minute, "1 unchanged · 1 h 1 min"},
		"pull":          {[]Item{{Status: "pulled"}}, 7_500_000_000, 100 * time.Second, "1 pulled · 7.5 GB fetched · 1 min 40 s"},
		"trust":         {[]Item{{Status: "checked"}, {Status: "checked"}}, 0, 0, "2 checked · 0.0 s"},
		"dry run":       {[]Item{{Status: "repaired", DryRun: true}}, 0, 0, "dry run: 1 repaired · 0.0 s"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				if got := line(test.results, test.moved, test.took); got != test.want {
					t.Errorf("got  %s\nwant %s", got, test.want)
				}
			})
		})
	}
}

// TestActivities checks that long activities without transfers are described.
func TestActivities(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var lines []string
		r := newRun()
		r.listeners = []listener{newLines(func(format string, args ...any) { lines = append(lines, fmt.Sprintf(format, args...)) }, r)}
		time.Sleep(500 * time.Millisecond)
		done := r.step("checking acme/widget")
		time.Sleep(12 * time.Second)
		done()
		p := lineOf(t, "hashicorp/large")
		r.itemStarted(p.Address, p.Version)
		time.Sleep(19 * time.Second)
		progress := r.progress()
		progress.Begin(p, 10)
		time.Sleep(22 * time.Second)
		progress.End(p, nil)
		time.Sleep(18 * time.Second)
		r.itemFinished(p.Address, p.Version, Item{})
		r.notify(displayClosed{})
		want := []string{
			"checking acme/widget: 10 s",
			"working on hashicorp/large 0.0.0: 18 s",
			"transferring large.zip: 0 B of 10 B, 0 B/s",
			"working on hashicorp/large 0.0.0: 17 s",
		}
		if diff := cmp.Diff(want, lines); diff != "" {
			t.Errorf("(-want +got)\n%s", diff)
		}
	})
}
