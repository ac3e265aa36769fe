package origin_test

import (
	"errors"
	"maps"
	"testing"
	"time"

	"github.com/tofu-oci/tofu-oci/internal/testing/origintest"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// someDay is the date of a release.
var someDay = time.Date(2025, 6, 7, 8, 9, 10, 0, time.UTC)

// TestRegistryDates checks that dates in documents take precedence over the date of
// SHA256SUMS, and that invalid dates are ignored.
func TestRegistryDates(t *testing.T) {
	t.Parallel()
	const stated, other, future = "2025-06-07T08:09:10Z", "2025-01-01T00:00:00Z", "2999-01-01T00:00:00Z"
	list := func(field string, value any) func(map[string]any) {
		return func(entry map[string]any) { entry[field] = value }
	}
	lists := func(fields map[string]any) func(map[string]any) {
		return func(entry map[string]any) { maps.Copy(entry, fields) }
	}
	documents := func(field string, values map[provider.Platform]any) func(provider.Platform, map[string]any) {
		return func(p provider.Platform, doc map[string]any) {
			if value, ok := values[p]; ok {
				doc[field] = value
			}
		}
	}
	both := func(value any) map[provider.Platform]any {
		return map[provider.Platform]any{haiku: value, plan9: value}
	}
	for name, test := range map[string]struct {
		list     func(map[string]any)
		edit     func(provider.Platform, map[string]any)
		modified time.Time
		want     bool // if false, the date is zero
	}{
		"nothing":                 {},
		"the list":                {list: list("published", stated), modified: someDay.Add(time.Hour), want: true},
		"the list in other words": {list: list("published_at", stated), want: true},
		"the registry's date before the author's":  {list: lists(map[string]any{"published": "2020-01-01T00:00:00Z", "discovered": stated}), want: true},
		"the registry's date in other words":       {edit: documents("discovered_at", both(stated)), modified: someDay.Add(-time.Hour), want: true},
		"the registry's date that is none":         {list: lists(map[string]any{"published": stated, "discovered": "0001-01-01T00:00:00Z"}), want: true},
		"the list before the documents":            {list: list("published", stated), edit: documents("published", both(other)), want: true},
		"the documents before the sums":            {edit: documents("published", both(stated)), modified: someDay.Add(time.Hour), want: true},
		"the documents in other words":             {edit: documents("published_at", both(stated)), want: true},
		"the latest of the documents":              {edit: documents("published", map[provider.Platform]any{haiku: stated, plan9: other}), want: true},
		"the sums":                                 {modified: someDay, want: true},
		"the sums from before there were any":      {modified: time.Date(1999, 1, 1, 0, 0, 0, 0, time.UTC)},
		"the sums tomorrow":                        {modified: time.Now().Add(24 * time.Hour)},
		"the list without a date, the sums":        {list: list("published", "yesterday"), modified: someDay, want: true},
		"the list in the future, the sums":         {list: list("published", future), modified: someDay, want: true},
		"the list before there were any, the sums": {list: list("published", "1970-01-01T00:00:00Z"), modified: someDay, want: true},
		"a truth, a list and a number, the sums": {
			list: list("published", true), edit: documents("published", map[provider.Platform]any{haiku: []int{1}, plan9: 1}), modified: someDay, want: true,
		},
		"documents in the future": {edit: documents("published", both(future))},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, origintest.Options{})
			r := w.release()
			r.List, r.Edit, r.Modified = test.list, test.edit, test.modified
			w.add(t, r)
			s := w.source()
			release, err := s.Release(t.Context(), w.address, version(t, "1.2.3"))
			if err != nil {
				t.Fatal(err)
			}
			want := time.Time{}
			if test.want {
				want = someDay
			}
			if release.Published != want {
				t.Errorf("the release is of %s, not %s", release.Published, want)
			}
			date, err := w.source().Capabilities().Date(t.Context(), w.address, version(t, "1.2.3"))
			if err != nil || date != want {
				t.Errorf("requested separately: got %s, %v, want %s", date, err, want)
			}
		})
	}
}

// TestRegistryDateRequests checks the number of requests for a date. A date requires two
// requests in addition to the list of versions, or none if the list contains the date.
// Reading the release does not repeat these requests.
func TestRegistryDateRequests(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		change func(*origintest.Release)
		want   map[origintest.Kind]int
	}{
		"the sums": {func(r *origintest.Release) { r.Modified = someDay }, map[origintest.Kind]int{origintest.Package: 1, origintest.Sums: 1}},
		"the list": {func(r *origintest.Release) {
			r.List = func(entry map[string]any) { entry["published"] = someDay }
		}, nil},
		"a document": {func(r *origintest.Release) {
			r.Edit = func(_ provider.Platform, doc map[string]any) { doc["published"] = someDay }
		}, map[origintest.Kind]int{origintest.Package: 1}},
		"no sums": {func(r *origintest.Release) { r.NoSums = true }, map[origintest.Kind]int{origintest.Package: 1}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, origintest.Options{})
			r := w.release()
			test.change(&r)
			w.add(t, r)
			s := w.source()
			for range 2 {
				if _, err := s.Capabilities().Date(t.Context(), w.address, version(t, "1.2.3")); err != nil {
					t.Fatal(err)
				}
			}
			for _, kind := range []origintest.Kind{origintest.Package, origintest.Sums, origintest.Signature, origintest.Zip} {
				if n := w.origin.Requests()[kind]; n != test.want[kind] {
					t.Errorf("%d requests for %s, want %d", n, kind, test.want[kind])
				}
			}
			if _, err := s.Release(t.Context(), w.address, version(t, "1.2.3")); err != nil {
				t.Fatal(err)
			}
			if n := w.origin.Requests(); n[origintest.Package] != 2 || n[origintest.Sums] > 1 {
				t.Errorf("with the release: %v", n)
			}
		})
	}
}

func TestRegistryDateMissing(t *testing.T) {
	t.Parallel()
	w := newWorld(t, origintest.Options{})
	w.add(t, origintest.Release{Version: "3.0.0"})
	date := w.source().Capabilities().Date
	if _, err := date(t.Context(), w.address, version(t, "7.0.0")); !errors.Is(err, provider.ErrVersionNotFound) {
		t.Errorf("no version: %v", err)
	}
	if got, err := date(t.Context(), w.address, version(t, "3.0.0")); !got.IsZero() || err != nil {
		t.Errorf("no package: %s, %v", got, err)
	}
	w.origin.Misbehave(origintest.Sums, origintest.Status(404), -1)
	if _, err := date(t.Context(), w.address, version(t, "1.2.3")); err == nil {
		t.Error("sums that can't be had are no error")
	}
}
