package page

import (
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/tofu-oci/tofu-oci/internal/finding"
	"github.com/tofu-oci/tofu-oci/internal/serve/api"
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

// platforms returns a short form of a platform list. If the list contains more than two
// platforms, it returns only their number and the operating systems.
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

// kindsOf lists the kinds of documents as text, without duplicates.
func kindsOf(documents []api.Document) string {
	var all []string
	for _, d := range documents {
		if k := kind(d); !slices.Contains(all, k) && len(all) < len(kinds) {
			all = append(all, k)
		}
	}
	return strings.Join(all, ", ")
}

func label(status string) string {
	if status = Visible(status, limitTiny); status != "" && status[0] < utf8.RuneSelf {
		return strings.ToUpper(status[:1]) + status[1:]
	}
	return status
}

// hashTailSize is the number of characters at the end of a hash that are always visible.
const hashTailSize = 8

// hashHead returns a hash without its tail, and hashTail returns the tail. The head is
// abbreviated if the hash is wider than its column.
func hashHead(hash string) string {
	hash = Visible(hash, limitWord)
	return strings.TrimSuffix(hash, hashTail(hash))
}

func hashTail(hash string) string {
	runes := []rune(Visible(hash, limitWord))
	return string(runes[max(0, len(runes)-hashTailSize):])
}

// pieces returns the parts of an address or URL between which a line can break.
func pieces(address string) []string { return strings.SplitAfter(Visible(address, limitLine), "/") }

// signature returns the label and the CSS class of a verdict.
func signature(v *api.Signature) struct{ Class, Text string } {
	type result = struct{ Class, Text string }
	switch {
	case v == nil:
		return result{"waits", "Signature not verified"}
	case v.Refused != "":
		return result{"bad", "Rejected by policy"}
	}
	switch v.Verdict {
	case "signed":
		return result{"good", "Signed, trusted key"}
	case "expired":
		return result{"waits", "Signed, key expired"}
	case "unpinned":
		return result{"waits", "Signed, key not pinned"}
	case "unsigned":
		return result{"waits", "Unsigned"}
	case "unknown-key":
		return result{"waits", "Signed, key unknown"}
	case "untrusted":
		return result{"bad", "Signed, key not trusted"}
	case "revoked":
		return result{"bad", "Signed, key revoked"}
	}
	return result{"bad", "Bad signature"}
}

// verdict returns the CSS class of a decision's verdict.
func verdict(text string) string {
	switch text {
	case "allow":
		return "good"
	case "hold":
		return "waits"
	}
	return "bad"
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
