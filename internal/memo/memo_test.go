package memo_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/tofu-oci/tofu-oci/internal/memo"
)

// counted makes the number of calls so far.
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

func TestNoLifetimeIsForever(t *testing.T) {
	t.Parallel()
	calls := 0
	m := memo.Memo[string, int]{Now: func() time.Time { t.Error("the clock was asked"); return time.Time{} }}
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

// TestEndedValuesAreRemoved: what nobody asks for again is not kept.
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
	if n := memo.Len(&m); n > 200 {
		t.Errorf("%d values are kept", n)
	}
}
