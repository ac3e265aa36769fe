package report

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tofu-oci/tofu-oci/internal/description"
	"github.com/tofu-oci/tofu-oci/internal/outcome"
)

// hostile contains a link, HTML, and characters that end a cell or a row.
const hostile = "a `b` |c| [d](https://example.com) <script>e</script> \\| @f\n| g | ::error::h ##[i]\u202e"

// TestSummaryOfHostileText checks that untrusted text stays in its table cell.
func TestSummaryOfHostileText(t *testing.T) {
	t.Parallel()
	results := []Item{{
		Provider: hostile, Version: hostile, Status: outcome.StatusFailed, Packages: []PackageItem{{Package: description.Package{Platform: hostile, Size: -1}}},
		Error: &outcome.ErrorItem{Message: hostile},
	}}
	text, err := newMarkdown("tofu-oci mirror", results, &outcome.ErrorItem{Message: hostile}).text(maxSummary)
	if err != nil {
		t.Fatal(err)
	}
	const span = "`a \uFFFDb\uFFFD \uFFFDc\uFFFD [d](https://example.com) <script>e</script> \\\uFFFD @f \uFFFD g \uFFFD ::error::h ##\uFFFD[i]\uFFFD`"
	want := "### tofu-oci mirror\n\n- " + span + "\n- " + strings.TrimSuffix(span, "`") + " " + strings.TrimPrefix(span, "`") + ": " + span + "\n\n" +
		"| provider | version | status | platforms | moved |\n|---|---|---|---|---|\n" +
		"| " + span + " | " + span + " | failed | " + span + " | 0 B |\n\n"
	if text != want {
		t.Errorf("got\n%s\nwant\n%s", text, want)
	}
}

// TestSummaryIsBounded checks that the summary respects the limit and counts omitted
// lines. The file's existing content must count toward the limit.
func TestSummaryIsBounded(t *testing.T) {
	t.Parallel()
	var results []Item
	for i := range 20_000 {
		r := Item{Provider: "registry.opentofu.org/acme/rocket", Version: fmt.Sprintf("1.%d.0", i), Status: "created"}
		if i%100 == 0 {
			r.Status, r.Error = outcome.StatusFailed, &outcome.ErrorItem{Message: strings.Repeat("no ", 1000)}
		}
		results = append(results, r)
	}
	path := filepath.Join(t.TempDir(), "summary.md")
	for n, test := range map[int]struct{ failures, rows, left string }{
		0:                {"rocket 1.19900.0`", "| `1.9000.0` |", "more rows are omitted.\n"},
		maxSummary - 2e5: {"rocket 1.10000.0`", "", "20000 more rows are omitted.\n"},
	} {
		if err := os.WriteFile(path, []byte(strings.Repeat(" ", n)), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := newMarkdown("many", results, nil).appendTo(path); err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if len(got) > maxSummary || len(got) < maxSummary-2000 {
			t.Errorf("%d bytes", len(got))
		}
		for _, want := range []string{test.failures, test.rows, test.left} {
			if !strings.Contains(string(got), want) {
				t.Errorf("after %d bytes, %q is missing", n, want)
			}
		}
	}
	if err := os.WriteFile(path, make([]byte, maxSummary), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := newMarkdown("many", results, nil).appendTo(path); err == nil || !strings.Contains(err.Error(), "exceeds 1 MiB") {
		t.Errorf("got %v", err)
	}
}
