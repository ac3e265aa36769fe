package mirror_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tofu-oci/tofu-oci/internal/testing/nouns"
	"github.com/tofu-oci/tofu-oci/internal/testing/origintest"
	"github.com/tofu-oci/tofu-oci/internal/testing/registrytest"
	"github.com/tofu-oci/tofu-oci/pkg/mirror"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/publish"
)

const day = 24 * time.Hour

// noon is the current time in these tests.
var noon = time.Date(2025, 11, 22, 12, 0, 0, 0, time.UTC)

func atNoon() time.Time { return noon }

func TestCooldownCheck(t *testing.T) {
	t.Parallel()
	a, v := nouns.Address(t, "registry.example.org/acme/rocket"), nouns.Version(t, "1.2.3")
	const subject = "registry.example.org/acme/rocket 1.2.3 is held back"
	for name, test := range map[string]struct {
		minAge    time.Duration
		published time.Time
		want      string
		eligible  time.Time
	}{
		"no limit, no date":    {},
		"no limit":             {published: noon},
		"exactly old enough":   {3 * day, noon.Add(-3 * day), "", time.Time{}},
		"a second too young":   {3 * day, noon.Add(-3*day + time.Second), subject + " until 2025-11-22T12:00:01Z, because it was published on 2025-11-19T12:00:01Z", noon.Add(time.Second)},
		"a second older":       {3 * day, noon.Add(-3*day - time.Second), "", time.Time{}},
		"just now":             {time.Nanosecond, noon, subject + " until 2025-11-22T12:00:00Z, because it was published on 2025-11-22T12:00:00Z", noon.Add(1)},
		"tomorrow":             {day, noon.Add(day), subject + " until 2025-11-24T12:00:00Z, because it was published on 2025-11-23T12:00:00Z", noon.Add(2 * day)},
		"without a date":       {time.Nanosecond, time.Time{}, subject + ", because its origin has no publication date", time.Time{}},
		"a limit that is none": {-day, noon, "", time.Time{}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := mirror.Cooldown{MinAge: test.minAge, Now: atNoon}.Check(a, v, test.published)
			if test.want == "" {
				if err != nil {
					t.Errorf("got %v", err)
				}
				return
			}
			young, ok := errors.AsType[*mirror.TooYoungError](err)
			if !ok {
				t.Fatalf("got %v", err)
			}
			if want := (&mirror.TooYoungError{Address: a, Version: v, Published: test.published, Eligible: test.eligible}); *young != *want {
				t.Errorf("got %+v, want %+v", young, want)
			}
			if err.Error() != test.want {
				t.Errorf("got %s\nwant %s", err, test.want)
			}
		})
	}
}

// dated adds versions of acme/rocket with the given ages. A negative age means no date.
func dated(t *testing.T, w *world, ages ...time.Duration) {
	t.Helper()
	for i, age := range ages {
		r := origintest.Release{
			Namespace: "acme", Type: "rocket", Version: fmt.Sprintf("1.%d.0", i),
			Archives: map[provider.Platform]origintest.Archive{nouns.Haiku: {Bytes: archive(t, fmt.Sprint(i), 10)}},
		}
		if age >= 0 {
			r.Modified = noon.Add(-age)
		}
		if err := w.origin.Add(t.Context(), r); err != nil {
			t.Fatal(err)
		}
	}
}

// became returns the version and outcome of each item.
func became(t *testing.T, w *world, src provider.Source, wanted []provider.Requirement, o mirror.Options) []string {
	t.Helper()
	var lines []string
	o.MinAge, o.Now, o.Target = 3*day, atNoon, w.target
	var planned []mirror.Item
	o.OnPlan = func(items []mirror.Item) { planned = items }
	o.OnStart = func(i mirror.Item) {
		if i.Held != nil {
			t.Errorf("%s was started", i.Version)
		}
	}
	o.OnResult = func(r mirror.Result) {
		what := string(r.Published.Status)
		switch {
		case r.Err != nil:
			what = "failed"
		case r.Item.Held != nil && r.Item.Held.Published.IsZero():
			what = "undated"
		case r.Item.Held != nil:
			what = "held"
		}
		lines = append(lines, strings.TrimSpace(r.Item.Version.String()+" "+what))
	}
	if err := mirror.Run(t.Context(), src, wanted, o); err != nil {
		t.Fatal(err)
	}
	if len(planned) != len(lines) {
		t.Errorf("%d items were planned, and %d reported", len(planned), len(lines))
	}
	return lines
}

func TestRunHoldsBack(t *testing.T) {
	t.Parallel()
	const none = -1
	for name, test := range map[string]struct {
		ages     []time.Duration // ages of the versions 1.0.0, 1.1.0, and so on
		wanted   string
		newest   int
		want     []string
		requests int // number of requests for SHA256SUMS
	}{
		"the newest that is old enough":   {[]time.Duration{9 * day, 4 * day, 3 * day, 2 * day, 0}, "acme/rocket", 1, []string{"1.4.0 held", "1.3.0 held", "1.2.0 created"}, 3},
		"the newest one":                  {[]time.Duration{9 * day, 4 * day}, "acme/rocket", 1, []string{"1.1.0 created"}, 1},
		"the two newest":                  {[]time.Duration{9 * day, 4 * day, 2 * day, 3 * day, 0}, "acme/rocket", 2, []string{"1.4.0 held", "1.3.0 created", "1.2.0 held", "1.1.0 created"}, 4},
		"all":                             {[]time.Duration{9 * day, day, 4 * day, none}, "acme/rocket", 0, []string{"1.3.0 undated", "1.2.0 created", "1.1.0 held", "1.0.0 created"}, 4},
		"within a constraint":             {[]time.Duration{9 * day, 4 * day, day, 9 * day}, "acme/rocket@< 1.3", 1, []string{"1.2.0 held", "1.1.0 created"}, 2},
		"all are too young":               {[]time.Duration{day, 2 * day, 0}, "acme/rocket", 1, []string{"1.2.0 held", "1.1.0 held", "1.0.0 held"}, 3},
		"a second too young":              {[]time.Duration{3*day - time.Second}, "acme/rocket", 1, []string{"1.0.0 held"}, 1},
		"a version that is named passes":  {[]time.Duration{day, 0}, "acme/rocket@1.1.0", 1, []string{"1.1.0 created"}, 1},
		"also without a date":             {[]time.Duration{none}, "acme/rocket@= 1.0.0", 1, []string{"1.0.0 created"}, 1},
		"one without a date is passed by": {[]time.Duration{9 * day, none}, "acme/rocket", 1, []string{"1.1.0 undated", "1.0.0 created"}, 2},
		"no date at all":                  {[]time.Duration{none, none}, "acme/rocket", 1, []string{"1.1.0 failed", "1.0.0 undated"}, 2},
		"no date of many": {[]time.Duration{9 * day, none, none, none, none, none}, "acme/rocket", 1,
			[]string{"1.5.0 failed", "1.4.0 undated", "1.3.0 undated", "1.2.0 undated", "1.1.0 undated"}, 5},
		"no date of any, all": {[]time.Duration{none, none}, "acme/rocket", 0, []string{"1.1.0 failed", "1.0.0 undated"}, 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, registrytest.Options{}, 0, 0)
			dated(t, w, test.ages...)
			got := became(t, w, w.source(), []provider.Requirement{w.requirement(t, test.wanted)}, mirror.Options{Latest: test.newest})
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Error(diff)
			}
			if n := w.origin.Requests()[origintest.Sums]; n != test.requests {
				t.Errorf("got requests for %d versions, want %d", n, test.requests)
			}
		})
	}
}

// TestRunKeepsExistingVersions checks that existing versions count toward Latest, and
// that their dates are not requested from the origin.
func TestRunKeepsExistingVersions(t *testing.T) {
	t.Parallel()
	w := newWorld(t, registrytest.Options{}, 0, 0)
	dated(t, w, 9*day, 0)
	run := func(text string, newest int) []string {
		return became(t, w, w.source(), []provider.Requirement{w.requirement(t, text)}, mirror.Options{Latest: newest})
	}
	run("acme/rocket@1.1.0", 1)
	for _, step := range []struct {
		newest   int
		want     []string
		requests int // number of requests for SHA256SUMS
	}{
		{1, []string{"1.1.0 unchanged"}, 0},
		{2, []string{"1.1.0 unchanged", "1.0.0 created"}, 1},
		{0, []string{"1.1.0 unchanged", "1.0.0 unchanged"}, 0},
	} {
		before := w.origin.Requests()[origintest.Sums]
		if diff := cmp.Diff(step.want, run("acme/rocket", step.newest)); diff != "" {
			t.Errorf("newest %d: %s", step.newest, diff)
		}
		if n := w.origin.Requests()[origintest.Sums] - before; n != step.requests {
			t.Errorf("newest %d: got requests for %d versions, want %d", step.newest, n, step.requests)
		}
	}
}

// TestPinnedVersionIsNotHeldBack checks that a release that one requirement pins is not
// held back by another requirement, regardless of the order of the requirements.
func TestPinnedVersionIsNotHeldBack(t *testing.T) {
	t.Parallel()
	for _, reversed := range []bool{false, true} {
		w := newWorld(t, registrytest.Options{}, 0, 0)
		dated(t, w, 9*day, 0)
		wanted := []provider.Requirement{w.requirement(t, "acme/rocket"), w.requirement(t, "acme/rocket@1.1.0")}
		want := []string{"1.0.0 created", "1.1.0 created"}
		if reversed {
			slices.Reverse(wanted)
			slices.Reverse(want)
		}
		if diff := cmp.Diff(want, became(t, w, w.source(), wanted, mirror.Options{Latest: 1})); diff != "" {
			t.Errorf("reversed %t: %s", reversed, diff)
		}
	}
}

// TestRunWithFailingDates checks that a version fails if its date can't be requested.
// No older version replaces it.
func TestRunWithFailingDates(t *testing.T) {
	t.Parallel()
	w := newWorld(t, registrytest.Options{}, 0, 0)
	dated(t, w, 9*day, 9*day)
	w.origin.Misbehave(origintest.Sums, origintest.Status(403), -1)
	want := []string{"1.1.0 failed"}
	if diff := cmp.Diff(want, became(t, w, w.source(), []provider.Requirement{w.requirement(t, "acme/rocket")}, mirror.Options{Latest: 1})); diff != "" {
		t.Error(diff)
	}
}

// TestRunWithoutDates checks that dates are read from the releases if the source can't
// return them separately.
func TestRunWithoutDates(t *testing.T) {
	t.Parallel()
	w := newWorld(t, registrytest.Options{}, 0, 0)
	dated(t, w, 9*day, day)
	want := []string{"1.1.0 held", "1.0.0 created"}
	if diff := cmp.Diff(want, became(t, w, plain{w.source()}, []provider.Requirement{w.requirement(t, "acme/rocket")}, mirror.Options{Latest: 1})); diff != "" {
		t.Error(diff)
	}
}

// plain is a source without optional capabilities.
type plain struct{ provider.Source }

// TestFailFastIgnoresHeldBack checks that a version that is held back does not count
// as a failure.
func TestFailFastIgnoresHeldBack(t *testing.T) {
	t.Parallel()
	w := newWorld(t, registrytest.Options{}, 0, 0)
	dated(t, w, 9*day, day)
	want := []string{"1.1.0 held", "1.0.0 " + string(publish.Created)}
	if diff := cmp.Diff(want, became(t, w, w.source(), []provider.Requirement{w.requirement(t, "acme/rocket")}, mirror.Options{Latest: 1, FailFast: true})); diff != "" {
		t.Error(diff)
	}
}
