package metrics_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tofu-oci/tofu-oci/internal/metrics"
)

// TestTextfile checks the metrics of a successful run and of a subsequent failed run.
func TestTextfile(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "sync.prom")
	run := metrics.Sync{
		Declaration: `a "b"} 1.hcl`, Finished: time.Unix(1_700_000_000, 0), Actions: map[string]int{"mirror": 2, "hold": 0}, Bytes: 688,
		Signatures: map[string]int{"signed": 2}, Warnings: 3,
		Newest: map[string]time.Time{"registry.opentofu.org/acme/rocket": time.Unix(1_600_000_000, 0)},
	}
	const d = `{declaration="a \"b\"} 1.hcl"`
	want := []string{
		`tofu_oci_sync_actions{action="hold",` + d[1:] + "} 0",
		`tofu_oci_sync_actions{action="mirror",` + d[1:] + "} 2",
		"tofu_oci_sync_failed_actions" + d + "} 0",
		"tofu_oci_sync_last_run_exit_code" + d + "} 0",
		"tofu_oci_sync_last_run_timestamp_seconds" + d + "} 1.7e+09",
		"tofu_oci_sync_last_success_timestamp_seconds" + d + "} 1.7e+09",
		"tofu_oci_sync_newest_version_timestamp_seconds" + d + `,provider="registry.opentofu.org/acme/rocket"} 1.6e+09`,
		"tofu_oci_sync_signatures" + d + `,verdict="signed"} 2`,
		"tofu_oci_sync_transferred_bytes" + d + "} 688",
		"tofu_oci_sync_warnings" + d + "} 3",
	}
	if diff := cmp.Diff(want, written(t, run, path)); diff != "" {
		t.Errorf("a successful run, -want +got\n%s", diff)
	}
	got := written(t, metrics.Sync{Declaration: run.Declaration, Finished: run.Finished.Add(time.Hour), ExitCode: 3, Failed: 1}, path)
	want = []string{
		"tofu_oci_sync_failed_actions" + d + "} 1",
		"tofu_oci_sync_last_run_exit_code" + d + "} 3",
		"tofu_oci_sync_last_run_timestamp_seconds" + d + "} 1.7000036e+09",
		"tofu_oci_sync_last_success_timestamp_seconds" + d + "} 1.7e+09",
		"tofu_oci_sync_transferred_bytes" + d + "} 0",
		"tofu_oci_sync_warnings" + d + "} 0",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("a failed run, -want +got\n%s", diff)
	}
	if got := written(t, metrics.Sync{ExitCode: 1}, filepath.Join(t.TempDir(), "new.prom")); strings.Contains(strings.Join(got, "\n"), "success") {
		t.Errorf("a first run that failed: %q", got)
	}
}

// written writes the textfile and returns its metrics.
func written(t *testing.T, run metrics.Sync, path string) (lines []string) {
	t.Helper()
	if err := run.WriteTextfile(path); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(data)) {
		if !strings.HasPrefix(line, "#") {
			lines = append(lines, strings.TrimSpace(line))
		}
	}
	return lines
}
