package provider_test

import (
	"testing"
	"time"

	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// parseDate parses a date in RFC 3339 form. It returns the zero time if the text is
// invalid.
func parseDate(text string) time.Time {
	t, _ := time.Parse(time.RFC3339, text)
	return provider.CleanDate(t)
}

func TestCleanDate(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"2026-11-22T05:52:41Z":           "2026-11-22T05:52:41Z",
		"2026-11-22T06:52:41.999+01:00":  "2026-11-22T05:52:41Z",
		"2014-01-01T00:00:00Z":           "2014-01-01T00:00:00Z",
		"2013-12-31T23:59:59Z":           "",
		"2014-01-01T00:00:00+00:01":      "",
		"1970-01-01T00:00:00Z":           "",
		"0001-01-01T00:00:00Z":           "",
		"9999-12-31T23:59:59Z":           "9999-12-31T23:59:59Z",
		"9999-12-31T23:59:59-00:01":      "",
		"2026-11-22":                     "",
		"2026-11-22 05:52:41Z":           "",
		"Sun, 22 Nov 2026 05:52:41 GMT":  "",
		"2026-02-30T00:00:00Z":           "",
		"2026-11-22T05:52:41Z<script>":   "",
		"2026-11-22T05:52:41Z and later": "",
		"":                               "",
	} {
		got := parseDate(text)
		if want == "" && !got.IsZero() || want != "" && got.Format(time.RFC3339) != want {
			t.Errorf("%q: got %s, want %q", text, got, want)
		}
	}
}

// FuzzCleanDate checks that every result is a plausible date, and that a second call
// doesn't change it.
func FuzzCleanDate(f *testing.F) {
	for _, text := range []string{"2026-11-22T05:52:41Z", "2026-11-22T06:52:41.999+01:00", "9999-12-31T23:59:59-00:01", "", "x"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		d := parseDate(text)
		switch {
		case d.IsZero():
		case d.Location() != time.UTC || d.Nanosecond() != 0 || d.Year() < 2014:
			t.Errorf("%q: %s", text, d)
		case parseDate(d.Format(time.RFC3339)) != d:
			t.Errorf("%q: %s is read as %s", text, d, parseDate(d.Format(time.RFC3339)))
		}
	})
}
