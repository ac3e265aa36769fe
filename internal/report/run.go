package report

import (
	"cmp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/tofu-oci/tofu-oci/internal/outcome"
	"github.com/tofu-oci/tofu-oci/internal/schedule"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// listener handles the events that --events writes, and stepStarted, stepFinished, and
// displayClosed. It is called concurrently.
type listener interface{ handle(event any) }

type (
	stepStarted  struct{ step *activity }
	stepFinished struct{ step *activity }
	// displayClosed ends the progress display. It can be sent more than once.
	displayClosed struct{}
)

// run counts a run's releases and transfers, and notifies listeners.
type run struct {
	listeners []listener
	started   time.Time

	mu sync.Mutex
	// planned and finished are the numbers of planned and of finished releases.
	planned, finished int
	// reached is the highest progress so far. See position.
	reached int64
	// moved is the number of bytes in all transfers so far, including failed transfers.
	moved      int64
	meter      schedule.Meter
	transfers  map[packageKey]*transfer
	activities map[packageKey]*activity
}

// packageKey identifies a package. Without a platform, it identifies a release. It is
// not a string, because each read of a transfer creates a key and must not allocate
// memory.
type packageKey struct {
	address  provider.Address
	version  provider.Version
	platform provider.Platform
	// step is the name of a step that does not belong to a release.
	step string
}

// transfer describes a zip's transfer in progress.
type transfer struct {
	provider.Package
	started time.Time
	// total is the size in bytes, or -1 if the size is unknown. moved is the number of
	// bytes transferred so far.
	total, moved int64
	meter        schedule.Meter
	// full is the time when the last byte was transferred. Before that, it is zero.
	full time.Time
}

// activity is a release or a named step in progress. It can include work without
// transfers, such as hashing, unpacking, or waiting.
type activity struct {
	name    string
	started time.Time
	// idle is the time when the last transfer ended.
	idle time.Time
	// transfers is the number of transfers in progress. moved and total count the bytes
	// of all transfers.
	transfers    int
	moved, total int64
}

func newRun() *run {
	r := &run{started: time.Now(), transfers: map[packageKey]*transfer{}, activities: map[packageKey]*activity{}}
	r.meter.Rate(r.started, 0)
	return r
}

func (r *run) notify(event any) {
	for _, l := range r.listeners {
		l.handle(event)
	}
}

// plan adds n to the number of planned releases.
func (r *run) plan(n int) {
	r.mu.Lock()
	r.planned += n
	n = r.planned
	r.mu.Unlock()
	r.notify(&runPlanned{event: event{Event: "run_planned"}, Items: n})
}

// step starts an activity without transfers. The activity ends when done is called.
func (r *run) step(name string) (done func()) {
	key := packageKey{step: name}
	w := r.begin(key, name)
	r.notify(stepStarted{w})
	return func() {
		r.end(key)
		r.notify(stepFinished{w})
	}
}

func (r *run) itemStarted(a provider.Address, v provider.Version) {
	r.begin(packageKey{address: a, version: v}, "working on "+strings.TrimPrefix(a.Namespace+"/"+a.Type, "/")+" "+v.String())
	r.notify(&itemStarted{event: event{Event: "item_started"}, Provider: a.String(), Version: v.String()})
}

// itemFinished records that a release has finished. Releases can finish in any order.
func (r *run) itemFinished(a provider.Address, v provider.Version, i Item) {
	e := &itemFinished{event: event{Event: "item_finished"}, Item: i}
	if w := r.end(packageKey{address: a, version: v}); w != nil {
		e.Seconds = new(seconds(time.Since(w.started)))
	}
	r.mu.Lock()
	r.finished++
	r.mu.Unlock()
	r.notify(e)
}

func (r *run) begin(key packageKey, name string) *activity {
	now := time.Now()
	w := &activity{name: name, started: now, idle: now}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.activities[key] = w
	return w
}

func (r *run) end(key packageKey) *activity {
	r.mu.Lock()
	defer r.mu.Unlock()
	w := r.activities[key]
	delete(r.activities, key)
	return w
}

func (r *run) progress() provider.Progress {
	return provider.Progress{Begin: r.transferStarted, Advance: r.advance, End: r.transferFinished}
}

func (r *run) transferStarted(p provider.Package, total int64) {
	t := &transfer{Package: p, started: time.Now(), total: total}
	t.meter.Rate(t.started, 0)
	r.mu.Lock()
	r.transfers[keyOf(p)] = t
	if w := r.activities[releaseOf(p)]; w != nil {
		w.transfers++
		w.total += max(total, 0)
	}
	r.mu.Unlock()
	r.notify(&transferStarted{event: event{Event: "transfer_started"}, transferOf: ofPackage(p), Size: max(total, 0), transfer: t})
}

func (r *run) advance(p provider.Package, n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.moved += int64(n)
	if w := r.activities[releaseOf(p)]; w != nil {
		w.moved += int64(n)
	}
	if t := r.transfers[keyOf(p)]; t != nil {
		if t.moved += int64(n); t.moved == t.total {
			t.full = time.Now()
		}
	}
}

func (r *run) transferFinished(p provider.Package, err error) {
	now := time.Now()
	r.mu.Lock()
	t := r.transfers[keyOf(p)]
	delete(r.transfers, keyOf(p))
	if w := r.activities[releaseOf(p)]; w != nil && t != nil {
		w.transfers--
		w.idle = now
	}
	r.mu.Unlock()
	if t == nil {
		return
	}
	r.notify(&transferFinished{
		event: event{Event: "transfer_finished"}, transferOf: ofPackage(p), Bytes: t.moved, Seconds: seconds(now.Sub(t.started)), Error: outcome.DescribeError(err), transfer: t,
	})
}

func keyOf(p provider.Package) packageKey {
	return packageKey{address: p.Address, version: p.Version, platform: p.Platform}
}

func releaseOf(p provider.Package) packageKey {
	return packageKey{address: p.Address, version: p.Version}
}

// lasting describes the activities that have had no transfers for at least the given
// duration, oldest first. An example is "working on hashicorp/aws 5.64.0: 12 s". The
// caller must hold r.mu.
func (r *run) lasting(now time.Time, atLeast time.Duration) []string {
	var idle []*activity
	for _, w := range r.activities {
		if w.transfers == 0 && now.Sub(w.idle) >= atLeast {
			idle = append(idle, w)
		}
	}
	slices.SortFunc(idle, func(a, b *activity) int { return cmp.Or(a.idle.Compare(b.idle), cmp.Compare(a.name, b.name)) })
	var texts []string
	for _, w := range idle {
		texts = append(texts, w.name+": "+formatDuration(now.Sub(w.idle)))
	}
	return texts
}

// maxRemaining is the maximum remaining time that is shown.
const maxRemaining = 1000 * time.Hour

// remaining returns the time required to transfer the given number of bytes at the
// given rate.
func remaining(bytes, rate int64) string {
	s := min(float64(bytes)/float64(rate), maxRemaining.Seconds())
	return formatDuration(time.Duration(s * float64(time.Second)))
}
