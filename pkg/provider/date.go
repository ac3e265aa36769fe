package provider

import "time"

// CleanDate returns a date of a version as [Release] has it: in UTC and whole seconds.
// What can't be one is zero: before 2014, when the first provider was written, or
// after the year 9999, which RFC 3339 can't write.
func CleanDate(t time.Time) time.Time {
	t = t.UTC().Truncate(time.Second)
	if year := t.Year(); year < 2014 || year > 9999 {
		return time.Time{}
	}
	return t
}
