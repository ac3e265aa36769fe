package schedule_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tofu-oci/tofu-oci/internal/schedule"
)

// load starts n goroutines that acquire slots of a key until the test ends, and hold
// each slot for a second. It returns the counter of concurrent slots.
func load(t *testing.T, l *schedule.Limiter, key string, n int) *most {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	var group sync.WaitGroup
	t.Cleanup(func() { cancel(); group.Wait() })
	seen := newMost()
	for range n {
		group.Go(func() {
			for {
				release, err := l.Acquire(ctx, key)
				if err != nil {
					return
				}
				sent := time.Now()
				seen.add(1, key)
				time.Sleep(time.Second)
				seen.add(-1, key)
				l.Recover(key, sent)
				release()
			}
		})
	}
	return seen
}

// TestThrottle checks that a throttled key has no slots during the pause. After the
// pause, the key has half of its slots and regains the rest one by one. Other keys are
// not affected.
func TestThrottle(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const pause = 10*time.Second + time.Second/2
		l := schedule.NewLimiter(0, 8)
		slow, other := load(t, l, "slow", 20), load(t, l, "other", 20)
		began := time.Now()
		time.Sleep(time.Second / 2)
		atOnce := func(m *most, key string) int {
			synctest.Wait()
			m.mu.Lock()
			defer m.mu.Unlock()
			return m.now[key]
		}
		// Concurrent requests receive the same response. One of these requests ends
		// here.
		for i := range 7 {
			got := l.Throttle("slow", began, pause)
			if got.First != (i == 0) || got.Single {
				t.Errorf("answer %d: %+v", i, got)
			}
		}
		if got := l.Pause("slow"); got != pause || l.Pause("other") != 0 {
			t.Errorf("a pause of %s", got)
		}
		time.Sleep(pause - 2*time.Second)
		if got := atOnce(slow, "slow"); got != 0 {
			t.Errorf("%d in the pause", got)
		}
		time.Sleep(2*time.Second + time.Second/4)
		for i, want := range []int{4, 5, 6, 7, 8, 8} {
			if got := atOnce(slow, "slow"); got != want {
				t.Errorf("%d at once, %d s after the pause", got, i)
			}
			time.Sleep(time.Second)
		}
		if got := atOnce(other, "other"); got != 8 {
			t.Errorf("%d of the other", got)
		}
	})
}

// TestThrottleSingleRequest checks that a host that rejected a single request gets one
// request at a time, and that a later rejection is reported again.
func TestThrottleSingleRequest(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := schedule.NewLimiter(0, 8)
		for range 2 {
			release, err := l.Acquire(t.Context(), "")
			if err != nil {
				t.Fatal(err)
			}
			sent := time.Now()
			release()
			if got := l.Throttle("", sent, time.Minute); !got.First || !got.Single {
				t.Errorf("got %+v", got)
			}
			if took := time.Since(sent); took != 0 {
				t.Errorf("took %s", took)
			}
			time.Sleep(time.Minute)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Second)
		defer cancel()
		l.Throttle("", time.Now(), time.Hour)
		if _, err := l.Acquire(ctx, ""); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v", err)
		}
	})
}

// TestThrottleGivesUp covers a host that rejects all requests for minutes. The host
// gets no more pauses until a request succeeds.
func TestThrottleGivesUp(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := schedule.NewLimiter(0, 8)
		for range 2 {
			for range 3 {
				if got := l.Throttle("", time.Now(), time.Minute); !got.First || got.GaveUp {
					t.Errorf("got %+v", got)
				}
				time.Sleep(time.Minute)
			}
			for range 2 {
				if got := l.Throttle("", time.Now(), time.Minute); !got.GaveUp || l.Pause("") != 0 {
					t.Errorf("got %+v and a pause of %s", got, l.Pause(""))
				}
				time.Sleep(time.Minute)
			}
			l.Recover("", time.Now())
		}
		l.Throttle("", time.Now(), time.Second)
		time.Sleep(time.Hour) // no requests are sent
		if got := l.Throttle("", time.Now(), time.Second); got.GaveUp {
			t.Errorf("got %+v after an hour", got)
		}
	})
}

// TestExclusiveFailures checks that exclusive requests stop after three consecutive
// failures. A success between failures prevents this.
func TestExclusiveFailures(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := schedule.NewLimiter(0, 8)
		for i, helped := range []bool{false, false, true, false, false, false, true, false} {
			first, err := l.Acquire(t.Context(), "")
			if err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			release, err := l.Acquire(schedule.Exclusive(ctx), "")
			cancel()
			first()
			isAlone := err != nil
			if !isAlone {
				release()
			}
			if want := i <= 5; isAlone != want {
				t.Errorf("the request %d waits to be alone: %t", i, isAlone)
			}
			l.ExclusiveDone("", helped)
		}
	})
}

// TestExclusive checks when an exclusive slot is granted under constant load. It must
// be granted after the slots in use and before all slots that are requested later.
func TestExclusive(t *testing.T) {
	t.Parallel()
	for name, limits := range map[string][2]int{"by key": {0, 4}, "in all": {4, 0}, "none": {0, 0}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				l := schedule.NewLimiter(limits[0], limits[1])
				seen, other := load(t, l, "a", 20), load(t, l, "b", 2)
				time.Sleep(time.Second / 2)
				done := make(chan time.Duration)
				for range 3 {
					go func() {
						start := time.Now()
						release, err := l.Acquire(schedule.Exclusive(t.Context()), "a")
						if err != nil {
							t.Error(err)
						}
						for range 10 {
							seen.mu.Lock()
							if seen.now["a"] != 0 {
								t.Errorf("%d concurrent requests", seen.now["a"])
							}
							seen.mu.Unlock()
							time.Sleep(time.Second / 5)
						}
						release()
						done <- time.Since(start)
					}()
				}
				for range 3 {
					if took := <-done; took > 20*time.Second {
						t.Errorf("came after %s", took)
					}
				}
				time.Sleep(10 * time.Second)
				synctest.Wait()
				seen.mu.Lock()
				defer seen.mu.Unlock()
				other.mu.Lock()
				defer other.mu.Unlock()
				if seen.now["a"] == 0 || other.high["b"] == 0 {
					t.Errorf("then %v, %v", seen.now, other.high)
				}
			})
		})
	}
}

// TestExclusiveCanceled checks that requests continue if a waiter for an exclusive slot
// is canceled.
func TestExclusiveCanceled(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := schedule.NewLimiter(0, 4)
		release, err := l.Acquire(t.Context(), "")
		if err != nil {
			t.Fatal(err)
		}
		defer release()
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		failed, came := make(chan error), make(chan struct{})
		go func() {
			_, err := l.Acquire(schedule.Exclusive(ctx), "")
			failed <- err
		}()
		synctest.Wait()
		go func() {
			if release, err := l.Acquire(t.Context(), ""); err == nil {
				release()
			}
			close(came)
		}()
		synctest.Wait()
		select {
		case <-came:
			t.Error("came before the one who waits to be alone")
		default:
		}
		if err := <-failed; !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v", err)
		}
		<-came
	})
}
