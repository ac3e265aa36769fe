package provider

import "time"

// CleanDate returns the date of a version in the form that [Release] uses: in UTC and
// truncated to seconds. It returns the zero time for implausible dates. A date is
// implausible if it is before 2014, when the first provider was written, or after 9999,
// the last year that RFC 3339 can represent.
func CleanDate(t time.Time) time.Time {
	t = t.UTC().Truncate(time.Second)
	if year := t.Year(); year < 2014 || year > 9999 {
		return time.Time{}
	}
	return t
}
