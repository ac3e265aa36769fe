package schedule_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tofu-oci/tofu-oci/internal/schedule"
)

// TestRate checks that the rate is based on the last ten seconds.
func TestRate(t *testing.T) {
	t.Parallel()
	var p schedule.Meter
	at, moved := time.Now(), int64(0)
	var got []int64
	for _, step := range []struct {
		seconds int
		rate    int64
	}{{0, 0}, {5, 100}, {10, 10}, {5, 0}} {
		for range step.seconds * 4 {
			at, moved = at.Add(time.Second/4), moved+step.rate/4
			p.Rate(at, moved)
		}
		got = append(got, p.Rate(at, moved))
	}
	if diff := cmp.Diff([]int64{0, 100, 8, 4}, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}
