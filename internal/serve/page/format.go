package page

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/tofu-oci/tofu-oci/internal/serve/api"
	"github.com/tofu-oci/tofu-oci/pkg/finding"
)

// formatSize formats a size for users, for example "14.2 MB".
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

// date returns the UTC date of a time.
func date(t time.Time) string { return t.UTC().Format(time.DateOnly) }

// timestamp formats a time in RFC 3339 format.
func timestamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }

// count returns a number and a noun, such as "1 version" or "12 versions".
func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// platforms returns a short form of a list of platforms. If the list contains more than
// two platforms, it returns only their number and the operating systems.
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

// kinds maps the kinds of documents to labels.
var kinds = map[string]string{
	"checksums": "checksums", "signature": "signature", "keys": "signing keys", "sbom": "SBOM",
	"provenance": "provenance", "sigstore": "Sigstore bundle", "other": "document",
}

// kind returns the label for a document's kind.
func kind(d api.Document) string {
	if word, known := kinds[d.Kind]; known {
		return word
	}
	return Visible(d.Kind, limitTiny)
}

// state returns the CSS class of a status.
func state(status string) string {
	switch status {
	case api.StatusComplete:
		return "good"
	case api.StatusPending, api.StatusUnknown:
		return "waits"
	}
	return "bad"
}

// severity returns the CSS class for a finding.
func severity(f finding.Finding) string {
	switch f.Severity {
	case finding.Error:
		return "bad"
	case finding.Warning:
		return "waits"
	}
	return "plain"
}
