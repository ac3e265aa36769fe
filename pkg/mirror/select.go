package mirror

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/tofu-oci/tofu-oci/internal/schedule"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// maxUndated limits the search for a version that is old enough. The search stops after
// maxUndated consecutive versions without a date. Most origins have dates for all
// versions or for none.
const maxUndated = 5

// Rules configures [Select]. The zero value selects all matching versions except
// pre-releases.
type Rules struct {
	// Latest is the maximum number of versions that are selected, starting with the
	// newest. If zero, the number is not limited.
	Latest int
	// PerMinor is the maximum number of versions that are selected per minor version,
	// such as 5.10, starting with the newest. It is applied before Latest. If zero, the
	// number is not limited.
	PerMinor int
	// PreReleases selects pre-releases by the same rules as final releases. If false, a
	// requirement must specify pre-releases exactly.
	PreReleases bool
	// Cooldown holds back recent versions, which don't count toward Latest and PerMinor.
	Cooldown Cooldown
}

// Candidates contains the versions from which [Select] selects.
type Candidates struct {
	// Versions contains the versions of the source. Denied contains the denied
	// versions, which can be missing from Versions.
	Versions, Denied []provider.Version
	// IsStored reports whether the target has a version. If it does, Cooldown does not
	// apply to the version.
	IsStored func(provider.Version) bool
	// Dates contains the known publication dates. See [FetchDates].
	Dates Dates
}

// Dates maps versions to publication dates.
type Dates map[provider.Version]Date

// Date is the publication date of a version, or the zero time if the source has no
// date. If the date is not known, Err is the reason.
type Date struct {
	Published time.Time
	Err       error
}

// FetchDates adds the publication dates of versions to dates.
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

// Select selects the versions that meet a requirement, without I/O. The items are
// sorted, newest first. They include versions that are held back, and denied versions
// that would otherwise be selected. If the result depends on unknown dates, undated
// contains the versions whose dates must be fetched before Select is called again. If a
// requirement specifies an exact version, Select selects this version even if it is not
// a candidate.
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
			perMinor[minor] = rules.PerMinor // the other versions depend on this date
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

// matching returns the candidates that meet a requirement, newest first. If no
// candidate meets it, the error is a *[provider.VersionError].
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

// checkAge checks the age of a version. It returns false if the version's date must be
// fetched first.
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

// failUndated fails requirements that can never be met because the origin provides no
// publication dates.
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
