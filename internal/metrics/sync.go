package metrics

import (
	"bytes"
	"errors"
	"io/fs"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"github.com/tofu-oci/tofu-oci/internal/bounded"
)

const (
	// syncPrefix is the prefix of the metric names of sync apply.
	syncPrefix  = "tofu_oci_sync_"
	lastSuccess = syncPrefix + "last_success_timestamp_seconds"
	// maxTextfile is the maximum size of an existing textfile in bytes. 10,000
	// providers require about 2 MB.
	maxTextfile = 64 << 20
)

// Sync contains the metrics of a run of sync apply, or of all shards of a run.
type Sync struct {
	// Declaration is the path of the declaration. It distinguishes the declarations on
	// a host.
	Declaration string
	// Finished is the time at which the run ended.
	Finished time.Time
	ExitCode int
	// Actions is the number of releases by action, including unchanged releases. Failed
	// is the number of failed actions.
	Actions map[string]int
	Failed  int
	// Signatures is the number of releases by verdict on the signature.
	Signatures map[string]int
	// Warnings is the number of warnings.
	Warnings int
	// Bytes is the total size of the transferred zips.
	Bytes int64
	// Newest maps providers to the publication dates of their newest mirrored versions.
	Newest map[string]time.Time
}

// WriteTextfile writes the metrics to a file for the textfile collector of the
// Prometheus node exporter. It replaces the file atomically. If the run failed,
// WriteTextfile copies the time of the last success from the existing file. See
// https://github.com/prometheus/node_exporter#textfile-collector
func (s Sync) WriteTextfile(path string) error {
	succeeded := seconds(s.Finished)
	if s.ExitCode != 0 {
		before, err := bounded.ReadFile(path, maxTextfile)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		succeeded = succeededIn(before)
	}
	registry := prometheus.NewRegistry()
	auto := promauto.With(prometheus.WrapRegistererWith(prometheus.Labels{"declaration": s.Declaration}, registry))
	gauges := func(name, help string, labels ...string) *prometheus.GaugeVec {
		return auto.NewGaugeVec(prometheus.GaugeOpts{Name: name, Help: help}, labels)
	}
	gauges(syncPrefix+"last_run_timestamp_seconds", "Time at which the last run ended.").WithLabelValues().Set(seconds(s.Finished))
	gauges(syncPrefix+"last_run_exit_code", "Exit code of the last run.").WithLabelValues().Set(float64(s.ExitCode))
	gauges(syncPrefix+"failed_actions", "Failed actions in the last run.").WithLabelValues().Set(float64(s.Failed))
	gauges(syncPrefix+"transferred_bytes", "Total size of the zips that the last run transferred.").WithLabelValues().Set(float64(s.Bytes))
	if succeeded > 0 {
		gauges(lastSuccess, "Time at which the last run with exit code 0 ended.").WithLabelValues().Set(succeeded)
	}
	actions := gauges(syncPrefix+"actions", "Releases in the last run, by action.", "action")
	for action, n := range s.Actions {
		actions.WithLabelValues(action).Set(float64(n))
	}
	signatures := gauges(syncPrefix+"signatures", "Releases whose signature the last run verified, by verdict.", "verdict")
	for verdict, n := range s.Signatures {
		signatures.WithLabelValues(verdict).Set(float64(n))
	}
	gauges(syncPrefix+"warnings", "Warnings in the last run.").WithLabelValues().Set(float64(s.Warnings))
	newest := gauges(syncPrefix+"newest_version_timestamp_seconds", "Publication date of the newest mirrored version, by provider.", "provider")
	for provider, published := range s.Newest {
		newest.WithLabelValues(provider).Set(seconds(published))
	}
	return prometheus.WriteToTextfile(path, registry)
}

func seconds(t time.Time) float64 { return float64(t.Unix()) }

// succeededIn returns the time of the last success in a textfile. If the textfile does
// not contain it, succeededIn returns 0.
func succeededIn(textfile []byte) float64 {
	for line := range bytes.Lines(textfile) {
		if bytes.HasPrefix(line, []byte(lastSuccess+"{")) {
			t, _ := strconv.ParseFloat(string(bytes.TrimSpace(line[bytes.LastIndexByte(line, ' '):])), 64)
			return t
		}
	}
	return 0
}
