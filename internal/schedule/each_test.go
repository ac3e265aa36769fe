package schedule_test

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"

	"github.com/tofu-oci/tofu-oci/internal/schedule"
)

// TestEachReportsInOrder completes the items in reverse order. It checks that the maximum
// number of items is in progress, and that nothing is reported before the first item
// has completed.
func TestEachReportsInOrder(t *testing.T) {
	t.Parallel()
	const n = schedule.MaxItems + 8
	synctest.Test(t, func(t *testing.T) {
		end := make([]chan struct{}, n)
		for i := range end {
			end[i] = make(chan struct{})
		}
		seen := newMost()
		var reported []int
		done := make(chan int)
		go func() {
			done <- schedule.Each(t.Context(), n, func(_ context.Context, i int) (int, bool) {
				seen.add(1, "")
				<-end[i]
				seen.add(-1, "")
				return i, true
			}, func(i int) { reported = append(reported, i) })
		}()
		synctest.Wait()
		for i := schedule.MaxItems - 1; i > 0; i-- {
			close(end[i])
		}
		synctest.Wait()
		if len(reported) != 0 {
			t.Errorf("got %v before the first result", reported)
		}
		close(end[0])
		synctest.Wait()
		if len(reported) != schedule.MaxItems {
			t.Errorf("got %v", reported)
		}
		for _, c := range end[schedule.MaxItems:] {
			close(c)
		}
		if got := <-done; got != n || !slices.IsSorted(reported) || len(reported) != n || seen.high[""] != schedule.MaxItems {
			t.Errorf("got %d reports: %v; %d concurrent", got, reported, seen.high[""])
		}
	})
}

// TestEachStopsStarting checks that started items are completed and reported after the
// context is canceled or do returns false.
func TestEachStopsStarting(t *testing.T) {
	t.Parallel()
	const n = 10 * schedule.MaxItems
	for name, ends := range map[string]func(cancel func()) (goOn bool){
		"stopped":     func(func()) bool { return false },
		"interrupted": func(cancel func()) bool { cancel(); return true },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				all, block := make(chan struct{}), make(chan struct{})
				var reported []int
				done := make(chan int)
				go func() {
					done <- schedule.Each(ctx, n, func(_ context.Context, i int) (int, bool) {
						if i == 3 {
							<-all
							return i, ends(cancel)
						}
						<-block
						return i, true
					}, func(i int) { reported = append(reported, i) })
				}()
				synctest.Wait()
				close(all)
				synctest.Wait()
				close(block)
				if got := <-done; got != schedule.MaxItems || len(reported) != got || !slices.IsSorted(reported) {
					t.Errorf("got %d reports: %v", got, reported)
				}
			})
		})
	}
}

func TestEachEmpty(t *testing.T) {
	t.Parallel()
	reported := schedule.Each(t.Context(), 0, func(context.Context, int) (int, bool) { return 0, true }, func(int) { t.Error("unexpected report") })
	if reported != 0 {
		t.Errorf("got %d reports, want 0", reported)
	}
}
