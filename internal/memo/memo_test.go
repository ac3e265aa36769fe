package memo_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tofu-oci/tofu-oci/internal/memo"
	"github.com/tofu-oci/tofu-oci/internal/testing/patience"
)

// counted returns the number of calls so far.
func counted(calls *int) func(context.Context) (int, error) {
	return func(context.Context) (int, error) {
		*calls++
		return *calls, nil
	}
}

func TestLifetime(t *testing.T) {
	t.Parallel()
	now, calls := time.Unix(0, 0), 0
	m := memo.Memo[string, int]{Lifetime: time.Minute, Now: func() time.Time { return now }}
	for _, step := range []struct {
		after time.Duration
		want  int
	}{{0, 1}, {time.Minute - 1, 1}, {1, 2}, {0, 2}, {time.Hour, 3}} {
		now = now.Add(step.after)
		if got, err := m.Get(t.Context(), "key", counted(&calls)); got != step.want || err != nil {
			t.Errorf("after %s: got %d, %v, want %d", step.after, got, err, step.want)
		}
	}
}

func TestZeroLifetimeNeverExpires(t *testing.T) {
	t.Parallel()
	calls := 0
	m := memo.Memo[string, int]{Now: func() time.Time { t.Error("unexpected use of the clock"); return time.Time{} }}
	for range 3 {
		if got, err := m.Get(t.Context(), "key", counted(&calls)); got != 1 || err != nil {
			t.Errorf("got %d, %v", got, err)
		}
	}
}

func TestFailuresAreForgotten(t *testing.T) {
	t.Parallel()
	m := memo.Memo[string, int]{}
	failure := errors.New("no")
	if _, err := m.Get(t.Context(), "key", func(context.Context) (int, error) { return 0, failure }); !errors.Is(err, failure) {
		t.Errorf("got %v", err)
	}
	calls := 0
	if got, err := m.Get(t.Context(), "key", counted(&calls)); got != 1 || err != nil {
		t.Errorf("got %d, %v", got, err)
	}
}

func TestForget(t *testing.T) {
	t.Parallel()
	m, calls := memo.Memo[string, int]{}, 0
	for want := 1; want <= 2; want++ {
		if got, err := m.Get(t.Context(), "key", counted(&calls)); got != want || err != nil {
			t.Errorf("got %d, %v", got, err)
		}
		m.Forget("key")
		m.Forget("another")
	}
}

// TestEndedValuesAreRemoved checks that expired values are removed even if they are not
// requested again.
func TestEndedValuesAreRemoved(t *testing.T) {
	t.Parallel()
	now := time.Unix(0, 0)
	m := memo.Memo[int, *[1]byte]{Lifetime: time.Second, Now: func() time.Time { return now }}
	for i := range 10_000 {
		now = now.Add(time.Second)
		if _, err := m.Get(t.Context(), i, func(context.Context) (*[1]byte, error) { return new([1]byte), nil }); err != nil {
			t.Fatal(err)
		}
	}
	if n := len(m.Keys()); n > 200 {
		t.Errorf("%d values are kept", n)
	}
}

// TestSize checks that the least recently used values are removed.
func TestSize(t *testing.T) {
	t.Parallel()
	m := memo.Memo[string, int64]{Size: 10, SizeOf: func(size int64) int64 { return size }}
	m.Put("a", 4)
	m.Put("b", 4)
	m.Lookup("a")
	m.Put("c", 5)
	m.Put("too large", 11)
	if _, isKept := m.Lookup("b"); isKept {
		t.Error("the value that was not used is kept")
	}
	if got, want := m.Keys(), []string{"a", "c"}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	m.Put("a", 1)
	m.Forget("c")
	m.Put("d", 9)
	if got, want := m.Keys(), []string{"a", "d"}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// TestRefresh checks that Refresh ignores the cached value, and that the value is kept
// after a failure.
func TestRefresh(t *testing.T) {
	t.Parallel()
	m := memo.Memo[string, int]{}
	m.Put("key", 1)
	if _, err := m.Refresh(t.Context(), "key", func(context.Context) (int, error) { return 0, errors.New("no") }); err == nil {
		t.Error("the failure is not returned")
	}
	if got, isKept := m.Lookup("key"); got != 1 || !isKept {
		t.Errorf("got %d, %t", got, isKept)
	}
	if _, err := m.Refresh(t.Context(), "key", func(context.Context) (int, error) { return 2, nil }); err != nil {
		t.Error(err)
	}
	if got, _ := m.Lookup("key"); got != 2 {
		t.Errorf("got %d", got)
	}
}

// TestCallersShareACall checks that only one of several concurrent callers makes the
// call. Another caller can stop waiting. If the call was aborted, that caller makes the
// call again.
func TestCallersShareACall(t *testing.T) {
	t.Parallel()
	m := memo.Memo[string, int]{}
	first, stop := context.WithCancel(t.Context())
	started, end := make(chan struct{}), make(chan struct{})
	var group sync.WaitGroup
	var ended atomic.Bool
	group.Go(func() {
		_, err := m.Get(first, "key", func(ctx context.Context) (int, error) {
			close(started)
			<-ctx.Done()
			<-end
			ended.Store(true)
			return 0, ctx.Err()
		})
		if !errors.Is(err, context.Canceled) || !ended.Load() {
			t.Errorf("the first caller got %v; its call had ended: %t", err, ended.Load())
		}
	})
	<-started
	impatient, leave := context.WithCancel(t.Context())
	leave()
	if _, err := m.Get(impatient, "key", counted(new(int))); !errors.Is(err, context.Canceled) {
		t.Errorf("the impatient caller got %v", err)
	}
	group.Go(func() {
		calls := 0
		if got, err := m.Get(t.Context(), "key", counted(&calls)); got != 1 || err != nil {
			t.Errorf("the patient caller got %d, %v", got, err)
		}
	})
	stop()
	close(end)
	group.Wait()
}

// TestDetachedCallsContinue checks that a call continues when its caller stops waiting,
// and that the next caller gets the result.
func TestDetachedCallsContinue(t *testing.T) {
	t.Parallel()
	m := memo.Memo[string, int]{Detached: patience.Limit}
	ctx, leave := context.WithCancel(t.Context())
	end := make(chan struct{})
	if _, err := m.Get(ctx, "key", func(ctx context.Context) (int, error) {
		leave()
		<-end
		return 1, ctx.Err()
	}); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	close(end)
	calls := 10
	if got, err := m.Get(t.Context(), "key", counted(&calls)); got != 1 || err != nil {
		t.Errorf("got %d, %v", got, err)
	}
}

// TestPanicReleasesOthers checks that a panic does not block the next caller.
func TestPanicReleasesOthers(t *testing.T) {
	t.Parallel()
	m := memo.Memo[string, int]{}
	func() {
		defer func() { _ = recover() }()
		_, _ = m.Get(t.Context(), "key", func(context.Context) (int, error) { panic("broken") })
	}()
	calls := 0
	if got, err := m.Get(t.Context(), "key", counted(&calls)); got != 1 || err != nil {
		t.Errorf("got %d, %v", got, err)
	}
}
