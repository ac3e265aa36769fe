package report

import (
	"cmp"
	"slices"
	"sync"
	"time"

	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// listener is told what happens in a run, by several goroutines at once. What happens is
// one of the forms of --events, or stepStarted, stepFinished or displayClosed.
type listener interface{ hear(happened any) }

type (
	stepStarted  struct{ step *work }
	stepFinished struct{ step *work }
	// displayClosed ends what is shown of the progress. More of them change nothing.
	displayClosed struct{}
)

// run counts what happens, and tells its listeners. Nothing else counts.
type run struct {
	listeners []listener
	began     time.Time

	mu sync.Mutex
	// planned and ended count releases.
	planned, ended int
	// moved are bytes of zips, those of transfers that broke off too.
	moved     int64
	pace      pace
	transfers map[packageKey]*transfer
	works     map[packageKey]*work
}

// packageKey identifies a package; without a platform, a release. It is not a text, because
// each read of a transfer needs it.
type packageKey struct {
	address  provider.Address
	version  provider.Version
	platform provider.Platform
	// step is the name of a step, which is about no release.
	step string
}

// transfer is a zip that moves.
type transfer struct {
	provider.Package
	began time.Time
	// total is -1 if it is unknown.
	total, moved int64
	pace         pace
	// full is when all of its bytes had moved, zero before.
	full time.Time
}

// work is something that is done without bytes, at least in part, such as hashing, unpacking
// and waiting: a release, or a step that has a name.
type work struct {
	name  string
	began time.Time
	// idle is since when nothing of it has moved.
	idle time.Time
	// transfers are under way; moved and total are the bytes of all of its transfers.
	transfers    int
	moved, total int64
}

func newRun() *run {
	r := &run{began: time.Now(), transfers: map[packageKey]*transfer{}, works: map[packageKey]*work{}}
	r.pace.rate(r.began, 0)
	return r
}

func (r *run) tell(happened any) {
	for _, l := range r.listeners {
		l.hear(happened)
	}
}

// plan begins to tell about a run's n releases.
func (r *run) plan(n int) {
	r.mu.Lock()
	r.planned = n
	r.mu.Unlock()
	r.tell(&runPlanned{event: event{Event: "run_planned"}, Items: n})
}

// step begins something that moves no bytes, until done is called.
func (r *run) step(name string) (done func()) {
	key := packageKey{step: name}
	w := r.begin(key, name)
	r.tell(stepStarted{w})
	return func() {
		r.end(key)
		r.tell(stepFinished{w})
	}
}

func (r *run) itemStarted(a provider.Address, v provider.Version) {
	r.begin(packageKey{address: a, version: v}, "working on "+a.Namespace+"/"+a.Type+" "+v.String())
	r.tell(&itemStarted{event: event{Event: "item_started"}, Provider: a.String(), Version: v.String()})
}

// itemFinished ends work on a release, in any order; results are reported in theirs.
func (r *run) itemFinished(a provider.Address, v provider.Version, i Item) {
	e := &itemFinished{event: event{Event: "item_finished"}, Item: i}
	if w := r.end(packageKey{address: a, version: v}); w != nil {
		e.Seconds = new(seconds(time.Since(w.began)))
	}
	r.mu.Lock()
	r.ended++
	r.mu.Unlock()
	r.tell(e)
}

func (r *run) begin(key packageKey, name string) *work {
	now := time.Now()
	w := &work{name: name, began: now, idle: now}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.works[key] = w
	return w
}

func (r *run) end(key packageKey) *work {
	r.mu.Lock()
	defer r.mu.Unlock()
	w := r.works[key]
	delete(r.works, key)
	return w
}

func (r *run) progress() provider.Progress {
	return provider.Progress{Begin: r.transferStarted, Advance: r.advance, End: r.transferFinished}
}

func (r *run) transferStarted(p provider.Package, total int64) {
	t := &transfer{Package: p, began: time.Now(), total: total}
	t.pace.rate(t.began, 0)
	r.mu.Lock()
	r.transfers[keyOf(p)] = t
	if w := r.works[releaseOf(p)]; w != nil {
		w.transfers++
		w.total += max(total, 0)
	}
	r.mu.Unlock()
	r.tell(&transferStarted{event: event{Event: "transfer_started"}, transferOf: ofPackage(p), Size: max(total, 0), transfer: t})
}

func (r *run) advance(p provider.Package, n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.moved += int64(n)
	if w := r.works[releaseOf(p)]; w != nil {
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
	if w := r.works[releaseOf(p)]; w != nil && t != nil {
		w.transfers--
		w.idle = now
	}
	r.mu.Unlock()
	if t == nil {
		return
	}
	e := &transferFinished{event: event{Event: "transfer_finished"}, transferOf: ofPackage(p), Bytes: t.moved, Seconds: seconds(now.Sub(t.began)), transfer: t}
	if err != nil {
		e.Error = describeError(err)
	}
	r.tell(e)
}

func keyOf(p provider.Package) packageKey {
	return packageKey{address: p.Address, version: p.Version, platform: p.Platform}
}

func releaseOf(p provider.Package) packageKey {
	return packageKey{address: p.Address, version: p.Version}
}

// lasting describes works without bytes for that long at least, the oldest first:
// "working on hashicorp/aws 5.64.0: 12 s". r is locked.
func (r *run) lasting(now time.Time, atLeast time.Duration) []string {
	var idle []*work
	for _, w := range r.works {
		if w.transfers == 0 && now.Sub(w.idle) >= atLeast {
			idle = append(idle, w)
		}
	}
	slices.SortFunc(idle, func(a, b *work) int { return cmp.Or(a.idle.Compare(b.idle), cmp.Compare(a.name, b.name)) })
	var texts []string
	for _, w := range idle {
		texts = append(texts, w.name+": "+lasted(now.Sub(w.idle)))
	}
	return texts
}
