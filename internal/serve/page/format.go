package page

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/tofu-oci/tofu-oci/internal/serve/api"
	"github.com/tofu-oci/tofu-oci/pkg/finding"
)

// bytesOf returns a size as people read it: "14.2 MB".
func formatSize(n int64) string {
	const unit = 1000
	if n < unit {
		return fmt.Sprintf("%d bytes", n)
	}
	size, units := float64(n), []string{"kB", "MB", "GB", "TB", "PB", "EB"}
	for _, name := range units {
		if size /= unit; size < unit-0.05 || name == units[len(units)-1] {
			return fmt.Sprintf("%.1f %s", size, name)
		}
	}
	return ""
}

// date returns the day of a time, in UTC.
func date(t time.Time) string { return t.UTC().Format(time.DateOnly) }

// moment returns a time as machines read it.
func timestamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }

// count returns a number with its noun: "1 version", "12 versions".
func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// platforms returns what fits into a cell: few as they are, of many the systems.
func platforms(all []string) string {
	const few = 2
	if len(all) <= few {
		return strings.Join(all, ", ")
	}
	var systems []string
	for _, p := range all {
		system, _, _ := strings.Cut(p, "_")
		if !slices.Contains(systems, system) {
			systems = append(systems, system)
		}
	}
	return fmt.Sprintf("%d on %s", len(all), strings.Join(systems, ", "))
}

// kinds are the words for the kinds of documents.
var kinds = map[string]string{
	"checksums": "checksums", "signature": "signature", "keys": "signing keys", "sbom": "SBOM",
	"provenance": "provenance", "sigstore": "Sigstore bundle", "other": "document",
}

// kind returns the word for a document's kind.
func kind(d api.Document) string {
	if word, known := kinds[d.Kind]; known {
		return word
	}
	return Visible(d.Kind, limitTiny)
}

// state returns the class of the style sheet for a status.
func state(status string) string {
	switch status {
	case api.StatusComplete:
		return "good"
	case api.StatusPending, api.StatusUnknown:
		return "waits"
	}
	return "bad"
}

// severity returns the class of the style sheet for a finding.
func severity(f finding.Finding) string {
	switch f.Severity {
	case finding.Error:
		return "bad"
	case finding.Warning:
		return "waits"
	}
	return "plain"
}
