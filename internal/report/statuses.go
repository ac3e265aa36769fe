package report

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/tofu-oci/tofu-oci/pkg/publish"
)

// These statuses supplement the statuses of package publish.
const (
	statusPulled  = "pulled"
	statusChecked = "checked" // used by trust, which transfers nothing
	statusFailed  = "failed"
	statusHeld    = "held"
)

// statuses lists all statuses of releases, in the order of the summary line.
var statuses = []string{
	string(publish.Created), string(publish.Extended), string(publish.Repaired), string(publish.Replaced), string(publish.Promoted), statusPulled,
	"restored", "pruned", "deleted", "marked", "unmarked", string(publish.Denied), string(publish.Unchanged), string(publish.Pending), statusHeld, statusFailed,
}

// counts maps each status to the number of results.
func counts(results []Item) map[string]int {
	of := map[string]int{}
	for _, r := range results {
		of[r.Status]++
	}
	return of
}

// line returns a run's summary, for example "5 created, 12 unchanged, 1 failed · 212.0 MB sent ·
// 41 s".
func line(results []Item, moved int64, took time.Duration) string {
	of, parts := counts(results), []string{}
	for _, status := range append(slices.Clone(statuses), statusChecked) {
		if of[status] > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", of[status], status))
		}
	}
	text := strings.Join(parts, ", ")
	if slices.ContainsFunc(results, func(i Item) bool { return i.DryRun }) {
		text = "dry run: " + text
	}
	if moved > 0 {
		verb := "sent"
		if of[statusPulled] > 0 {
			verb = "fetched"
		}
		text += fmt.Sprintf(" · %s %s", Size(moved), verb)
	}
	return text + " · " + formatDuration(took)
}

// formatDuration formats a duration.
func formatDuration(d time.Duration) string {
	s := int(d.Round(time.Second).Seconds())
	switch {
	case d < 10*time.Second:
		return fmt.Sprintf("%.1f s", d.Seconds())
	case s < 60:
		return fmt.Sprintf("%d s", s)
	case s < 60*60:
		return fmt.Sprintf("%d min %d s", s/60, s%60)
	}
	return fmt.Sprintf("%d h %d min", s/60/60, s/60%60)
}
