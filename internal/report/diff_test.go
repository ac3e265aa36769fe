package report_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tofu-oci/tofu-oci/internal/report"
)

func TestDiff(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ before, after, want string }{
		"same":       {"a\nb\n", "a\nb\n", ""},
		"new":        {"", "a\nb\n", "--- f\n+++ f\n@@ -0,0 +1,2 @@\n+a\n+b\n"},
		"gone":       {"a\n", "", "--- f\n+++ f\n@@ -1,1 +0,0 @@\n-a\n"},
		"within":     {"1\n2\n3\n4\n5\n6\n7\n8\n9\n", "1\n2\n3\n4\nfive\n6\n7\n8\n9\n", "--- f\n+++ f\n@@ -2,7 +2,7 @@\n 2\n 3\n 4\n-5\n+five\n 6\n 7\n 8\n"},
		"no newline": {"a", "a\n", "--- f\n+++ f\n@@ -1,1 +1,1 @@\n-a\n\\ No newline at end of file\n+a\n"},
		"CRLF":       {"a\r\n", "b\r\n", "--- f\n+++ f\n@@ -1,1 +1,1 @@\n-a\r\n+b\r\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if d := cmp.Diff(test.want, report.UnifiedDiff("f", []byte(test.before), []byte(test.after))); d != "" {
				t.Error(d)
			}
		})
	}
}
