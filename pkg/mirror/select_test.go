package mirror_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tofu-oci/tofu-oci/internal/testing/nouns"
	"github.com/tofu-oci/tofu-oci/internal/testing/registrytest"
	"github.com/tofu-oci/tofu-oci/pkg/mirror"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// TestSelect selects from the versions in all. An item has a suffix if it is held back or
// failed.
func TestSelect(t *testing.T) {
	t.Parallel()
	const all = "3.0.0-rc1 2.2.0 2.1.3 2.1.2 2.1.1 2.0.0 1.9.9"
	old := mirror.Date{Published: noon.Add(-9 * day)}
	young := mirror.Date{Published: noon}
	aged := mirror.Cooldown{MinAge: 3 * day, Now: atNoon}
	allOld := map[string]mirror.Date{"2.2.0": old, "2.1.3": old, "2.1.2": old, "2.1.1": old, "2.0.0": old, "1.9.9": old}
	for name, test := range map[string]struct {
		constraint     string
		rules          mirror.Rules
		denied, stored string
		dates          map[string]mirror.Date
		want, undated  string
	}{
		"all but pre-releases":          {want: "2.2.0 2.1.3 2.1.2 2.1.1 2.0.0 1.9.9"},
		"newest":                        {rules: mirror.Rules{Latest: 2}, want: "2.2.0 2.1.3"},
		"constraint":                    {constraint: "@~> 2.1.0", want: "2.1.3 2.1.2 2.1.1"},
		"exact":                         {constraint: "@7.0.0", want: "7.0.0"},
		"none":                          {constraint: "@>= 9", want: "0.0.0 failed"},
		"pre-releases":                  {rules: mirror.Rules{Latest: 2, PreReleases: true}, want: "3.0.0-rc1 2.2.0"},
		"pre-releases in a range":       {constraint: "@< 3.0.0", rules: mirror.Rules{Latest: 1, PreReleases: true}, want: "2.2.0"},
		"only a pre-release":            {constraint: "@>= 3.0.0", rules: mirror.Rules{PreReleases: true}, want: "3.0.0-rc1"},
		"per minor":                     {rules: mirror.Rules{PerMinor: 1}, want: "2.2.0 2.1.3 2.0.0 1.9.9"},
		"per minor before latest":       {rules: mirror.Rules{PerMinor: 2, Latest: 4}, want: "2.2.0 2.1.3 2.1.2 2.0.0"},
		"denied do not count":           {rules: mirror.Rules{Latest: 1}, denied: "2.2.0", want: "2.2.0 2.1.3"},
		"denied do not count per minor": {constraint: "@~> 2.1.0", rules: mirror.Rules{PerMinor: 1}, denied: "2.1.3", want: "2.1.3 2.1.2"},
		"older denied are not reached":  {rules: mirror.Rules{Latest: 1}, denied: "2.0.0", want: "2.2.0"},
		"denied and withdrawn":          {rules: mirror.Rules{Latest: 1}, denied: "2.3.0", want: "2.3.0 2.2.0"},
		"all are denied":                {constraint: "@2.2.0, >= 2.2", denied: "2.2.0", want: "2.2.0"},
		"dates are needed one by one":   {rules: mirror.Rules{Latest: 2, Cooldown: aged}, undated: "2.2.0"},
		"the next date":                 {rules: mirror.Rules{Latest: 2, Cooldown: aged}, dates: map[string]mirror.Date{"2.2.0": young}, undated: "2.1.3"},
		"dates of all":                  {rules: mirror.Rules{Cooldown: aged}, stored: "2.1.2", undated: "2.2.0 2.1.3 2.1.1 2.0.0 1.9.9"},
		"dates per minor":               {rules: mirror.Rules{PerMinor: 1, Cooldown: aged}, stored: "2.1.3", undated: "2.2.0 2.0.0 1.9.9"},
		"stored versions need no date":  {rules: mirror.Rules{Latest: 2, Cooldown: aged}, stored: "2.2.0 2.1.3", want: "2.2.0 2.1.3"},
		"young ones do not count": {rules: mirror.Rules{Latest: 1, Cooldown: aged}, dates: map[string]mirror.Date{"2.2.0": young, "2.1.3": {}, "2.1.2": old},
			want: "2.2.0 held, 2.1.3 undated, 2.1.2"},
		"young ones do not count per minor": {constraint: "@~> 2.1.0", rules: mirror.Rules{PerMinor: 1, Cooldown: aged}, dates: map[string]mirror.Date{"2.1.3": young, "2.1.2": old},
			want: "2.1.3 held, 2.1.2"},
		"old ones": {rules: mirror.Rules{PerMinor: 1, Latest: 2, Cooldown: aged}, dates: allOld, want: "2.2.0 2.1.3"},
		"an unknown date counts": {rules: mirror.Rules{Latest: 1, Cooldown: aged}, dates: map[string]mirror.Date{"2.2.0": {Err: provider.ErrVersionNotFound}},
			want: "2.2.0 failed"},
		"no dates": {constraint: "@>= 2.1.3", rules: mirror.Rules{Latest: 1, Cooldown: aged}, dates: map[string]mirror.Date{"2.2.0": {}, "2.1.3": {}},
			want: "2.2.0 failed, 2.1.3 undated"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, err := provider.ParseRequirement("registry.example.org/acme/rocket" + test.constraint)
			if err != nil {
				t.Fatal(err)
			}
			stored := versions(t, test.stored)
			c := mirror.Candidates{Versions: versions(t, all), Denied: versions(t, test.denied), Dates: mirror.Dates{}}
			c.IsStored = func(v provider.Version) bool { return slices.Contains(stored, v) }
			for v, date := range test.dates {
				c.Dates[nouns.Version(t, v)] = date
			}
			items, undated := mirror.Select(r, test.rules, c)
			if diff := cmp.Diff(strings.ReplaceAll(test.want, ",", ""), describe(items)); diff != "" {
				t.Error(diff)
			}
			if got := describe(itemsOf(undated)); got != test.undated {
				t.Errorf("dates of %q are needed, want %q", got, test.undated)
			}
		})
	}
}

func versions(t *testing.T, text string) (all []provider.Version) {
	t.Helper()
	for v := range strings.FieldsSeq(text) {
		all = append(all, nouns.Version(t, v))
	}
	return all
}

func itemsOf(versions []provider.Version) (items []mirror.Item) {
	for _, v := range versions {
		items = append(items, mirror.Item{Version: v})
	}
	return items
}

func describe(items []mirror.Item) string {
	var words []string
	for _, item := range items {
		words = append(words, item.Version.String())
		switch {
		case item.Err != nil:
			words = append(words, "failed")
		case item.Held != nil && item.Held.Published.IsZero():
			words = append(words, "undated")
		case item.Held != nil:
			words = append(words, "held")
		}
	}
	return strings.Join(words, " ")
}

// TestFetchDates checks that errors are recorded per version.
func TestFetchDates(t *testing.T) {
	t.Parallel()
	w := newWorld(t, registrytest.Options{}, 0, 0)
	dated(t, w, 9*day, 0)
	got := mirror.Dates{}
	wanted := versions(t, "1.1.0 4.0.0 1.0.0")
	mirror.FetchDates(t.Context(), w.source(), w.address, wanted, got)
	for i, want := range []time.Time{noon, {}, noon.Add(-9 * day)} {
		date := got[wanted[i]]
		if !date.Published.Equal(want) || (date.Err != nil) != want.IsZero() {
			t.Errorf("%s: got %v, want %v", wanted[i], date, want)
		}
	}
}
