//go:build linux

package main

import (
	"context"
	"debug/buildinfo"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/tofu-oci/tofu-oci/e2e/page"
)

const (
	// wantedRatio is the minimum throughput relative to nginx.
	wantedRatio = 0.9
	// wantedP99 is the maximum latency at the 99th percentile.
	wantedP99 = 50 * time.Millisecond
	// wantedConnecting is the maximum latency on new connections, relative to a server
	// without any logic.
	wantedConnecting = 1.3
	// wantedMemory is the maximum memory in addition to an idle server's memory, in
	// MiB: 64, plus the 32 that metadata_cache reserves by default.
	wantedMemory = 64 + 32
)

// report contains the results of all measurements.
type report struct {
	rounds   int
	archives []measured
	lists    attacked
	// connected contains the results of opening connections.
	connected connected
}

// text returns the report in Markdown.
func (r report) text(ctx context.Context, w *world) (string, error) {
	versions, err := w.versions(ctx)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	_, _ = fmt.Fprintf(&b, "%s; on %s. %s.%s\n\n", page.Machine(), time.Now().UTC().Format(time.DateOnly), versions, load())
	_, _ = fmt.Fprintf(&b, "Values for archives are tofu-oci / nginx, as medians of %d alternating downloads. *range* is the lowest and the highest ratio of two consecutive downloads. Missed targets are in bold.\n\n", r.rounds)
	b.WriteString("| 300 MB archive | MB/s | ratio | range | target |\n|---|---|---|---|---|\n")
	for _, m := range r.archives {
		b.WriteString(m.line() + "\n")
	}
	_, _ = fmt.Fprintf(&b, "\n| listing %d versions: %.0f requests per second over %d open connections | measured | target |\n|---|---|---|\n", listed, r.lists.Rate, connections)
	l := r.lists.Latencies
	_, _ = fmt.Fprintf(&b, "| 50th percentile | %s ms | – |\n", inMilliseconds(l.Median))
	_, _ = fmt.Fprintf(&b, "| 99th percentile | %s | < %d ms |\n", mark(inMilliseconds(l.P99)+" ms", l.P99 >= wantedP99), wantedP99.Milliseconds())
	_, _ = fmt.Fprintf(&b, "| maximum | %s ms | – |\n", inMilliseconds(l.Max))
	c := r.connected
	_, _ = fmt.Fprintf(&b, "| %d connections opened at once, 99th percentile of tofu-oci / a Go server without any logic | %s / %s ms, ratio %s | ≤ %g |\n", connections,
		inMilliseconds(page.Median(c.ours)), inMilliseconds(page.Median(c.bare)), mark(fmt.Sprintf("%.2f", c.ratio()), c.ratio() > wantedConnecting), wantedConnecting)
	above := (r.lists.peak - w.idle) >> 20
	_, _ = fmt.Fprintf(&b, "| peak memory of the server, above the %d MiB of an idle one | %s | ≤ %d MiB |\n", w.idle>>20, mark(fmt.Sprintf("%d MiB", above), above > wantedMemory), wantedMemory)
	return b.String(), nil
}

func (m measured) line() string {
	var ratios []float64
	for i := range m.ours {
		ratios = append(ratios, m.ours[i]/m.theirs[i])
	}
	return fmt.Sprintf("| %s | %.0f / %.0f | %s | %.2f–%.2f | ≥ %g |", m.name, page.Median(m.ours)/1e6, page.Median(m.theirs)/1e6,
		mark(fmt.Sprintf("%.2f", m.ratio()), m.ratio() < wantedRatio), slices.Min(ratios), slices.Max(ratios), wantedRatio)
}

func mark(text string, missed bool) string {
	if missed {
		return "**" + text + "**"
	}
	return text
}

func inMilliseconds(d time.Duration) string { return fmt.Sprintf("%.1f", d.Seconds()*1e3) }

var number = regexp.MustCompile(`v?[0-9]+\.[0-9][^ \n]*|[0-9a-f]{7,}[^ \n]*|dev`)

// versions returns the versions of the measured programs.
func (w *world) versions(ctx context.Context) (string, error) {
	vegeta, err := buildinfo.ReadFile(w.vegeta)
	if err != nil {
		return "", err
	}
	list := []string{"vegeta " + vegeta.Main.Version}
	for _, p := range []struct{ name, path, flag string }{{"tofu-oci", w.tofuOCI, "--version"}, {"nginx", w.nginx, "-v"}, {"curl", w.curl, "--version"}} {
		out, err := exec.CommandContext(ctx, p.path, p.flag).CombinedOutput()
		if err != nil {
			return "", fmt.Errorf("%s %s: %w", p.name, p.flag, err)
		}
		first, _, _ := strings.Cut(string(out), "\n")
		list = append(list, p.name+" "+number.FindString(first))
	}
	return strings.Join(append(list, runtime.Version()), ", "), nil
}

// load returns the system's load average if it is available.
func load() string {
	text, err := os.ReadFile("/proc/loadavg")
	if fields := strings.Fields(string(text)); err == nil && len(fields) > 2 {
		return " Load averages at the end (1, 5, and 15 minutes): " + strings.Join(fields[:3], ", ") + "."
	}
	return ""
}
