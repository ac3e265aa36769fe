package mirror

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/tofu-oci/tofu-oci/internal/schedule"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// maxUndated is the maximum number of consecutive versions without a date in the search for one
// that is old enough. Most origins have dates for all versions or for none.
const maxUndated = 5

// Rules are the rules of [Select]. The zero value selects all matching versions except
// pre-releases.
type Rules struct {
	// Latest is the maximum number of versions, newest first. If zero, it is unlimited.
	Latest int
	// PerMinor is the maximum number of versions per minor version, such as 5.10, newest first. It
	// is applied before Latest. If zero, it is unlimited.
	PerMinor int
	// PreReleases selects pre-releases like the releases that follow them. Otherwise, a requirement
	// must specify them exactly.
	PreReleases bool
	// Cooldown holds back young versions, which don't count toward Latest and PerMinor.
	Cooldown Cooldown
}

// Candidates are the versions that [Select] selects from.
type Candidates struct {
	// Versions are the versions of the source, and Denied the denied versions. A denied version can
	// be missing from Versions.
	Versions, Denied []provider.Version
	// IsStored reports whether the target has a version. Cooldown does not apply to such versions.
	IsStored func(provider.Version) bool
	// Dates are the publication dates that are known. See [FetchDates].
	Dates Dates
}

// Dates contains publication dates.
type Dates map[provider.Version]Date

// Date is the publication date of a version, or the zero time if the source has none. Err is the
// reason why it is not known.
type Date struct {
	Published time.Time
	Err       error
}

// FetchDates adds the publication dates of versions.
func FetchDates(ctx context.Context, src provider.Source, a provider.Address, versions []provider.Version, dates Dates) {
	i := 0
	schedule.Each(ctx, len(versions), func(ctx context.Context, i int) (Date, bool) {
		published, err := Cooldown{}.DateOf(ctx, src, a, versions[i])
		return Date{published, err}, true
	}, func(d Date) {
		dates[versions[i]] = d
		i++
	})
}

// Select selects the versions that meet a requirement, without I/O. The items are sorted, newest
// first. They include versions that are held back, and denied versions that would be selected
// otherwise. If the result depends on dates that are not known, undated contains the versions whose
// dates must be fetched before Select is called again. A requirement for an exact version selects
// it, whether or not it is a candidate.
func Select(r provider.Requirement, rules Rules, c Candidates) (items []Item, undated []provider.Version) {
	if v, exact := r.Constraint.Exact(); exact {
		return []Item{{Requirement: r, Version: v}}, nil
	}
	matching, err := c.matching(r, rules.PreReleases)
	if err != nil {
		return []Item{{Requirement: r, Err: err}}, nil
	}
	taken, withoutDate, perMinor := 0, 0, map[string]int{}
	for _, v := range matching {
		if rules.Latest > 0 && (taken == rules.Latest || withoutDate == maxUndated || len(undated) > 0) {
			break
		}
		item := Item{Requirement: r, Version: v}
		if slices.Contains(c.Denied, v) {
			items = append(items, item)
			continue
		}
		minor := ""
		if rules.PerMinor > 0 {
			if minor = minorOf(v); perMinor[minor] >= rules.PerMinor {
				continue
			}
		}
		if !c.checkAge(&item, rules.Cooldown) {
			undated = append(undated, v)
			perMinor[minor] = rules.PerMinor // the others depend on it
			continue
		}
		items = append(items, item)
		switch {
		case item.Held == nil:
			taken, withoutDate = taken+1, 0
			perMinor[minor]++
		case item.Held.Published.IsZero():
			withoutDate++
		default:
			withoutDate = 0
		}
	}
	if len(undated) > 0 {
		return nil, undated
	}
	return failUndated(items), nil
}

// matching returns the candidates that meet a requirement, newest first. If no candidate does, the
// error is a *[provider.VersionError].
func (c Candidates) matching(r provider.Requirement, preReleases bool) ([]provider.Version, error) {
	all := slices.Concat(c.Versions, c.Denied)
	met, _ := r.Select(all, 0)
	if preReleases {
		met = provider.NewestFirst(slices.Concat(met, r.PreReleases(all)))
	}
	if len(met) > 0 {
		return met, nil
	}
	return r.Select(slices.DeleteFunc(slices.Clone(c.Versions), func(v provider.Version) bool { return slices.Contains(c.Denied, v) }), 0)
}

// checkAge checks the age of a version. It returns false if its date must be fetched first.
func (c Candidates) checkAge(item *Item, cooldown Cooldown) bool {
	if cooldown.MinAge <= 0 || c.IsStored != nil && c.IsStored(item.Version) {
		return true
	}
	date, known := c.Dates[item.Version]
	if !known {
		return false
	}
	if item.Err = date.Err; item.Err == nil {
		item.Held = cooldown.check(item.Requirement.Address, item.Version, date.Published)
	}
	return true
}

// minorOf returns the first two numbers of a version.
func minorOf(v provider.Version) string {
	numbers := strings.SplitN(v.String(), ".", 3)
	return numbers[0] + "." + numbers[1]
}

// failUndated fails requirements that can never be satisfied because the origin has no publication
// date for any version.
func failUndated(items []Item) []Item {
	for _, item := range items {
		if item.Held == nil || !item.Held.Published.IsZero() {
			return items
		}
	}
	if len(items) > 0 {
		items[0].Err, items[0].Held = items[0].Held, nil
	}
	return items
}
