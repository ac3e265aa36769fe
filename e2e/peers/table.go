//go:build unix

package main

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/tofu-oci/tofu-oci/e2e/page"
)

// table contains the measurements in one place.
type table struct {
	place place
	// idle is the peak memory of a program that transfers nothing, in bytes.
	idle     int64
	measured []measured
}

// each returns the figure of each usage.
func each[T any](took []usage, figure func(usage) T) (values []T) {
	for _, u := range took {
		values = append(values, figure(u))
	}
	return values
}

func wall(u usage) time.Duration { return u.Wall }
func cpu(u usage) time.Duration  { return u.CPU }
func peak(u usage) int64         { return u.Peak }
func network(u usage) int64      { return u.Network }

// fastest returns the name of the doer with the smallest median time.
func (m measured) fastest(names []string) string {
	return slices.MinFunc(names, func(a, b string) int {
		return cmp.Compare(page.Median(each(m.took[a], wall)), page.Median(each(m.took[b], wall)))
	})
}

// line returns a row of the Markdown table.
func (m measured) line(r row) string {
	name := m.fastest(r.against)
	ours, theirs := m.took[r.ours], m.took[name]
	var ratios []float64
	for i := range ours {
		ratios = append(ratios, ours[i].Wall.Seconds()/theirs[i].Wall.Seconds())
	}
	ratio := page.Median(each(ours, wall)).Seconds() / page.Median(each(theirs, wall)).Seconds()
	cells := []string{
		r.work, name,
		fmt.Sprintf("%.2f / %.2f", page.Median(each(ours, wall)).Seconds(), page.Median(each(theirs, wall)).Seconds()),
		verdict(ratio, r.wanted), fmt.Sprintf("%.2f–%.2f", slices.Min(ratios), slices.Max(ratios)), "–",
		fmt.Sprintf("%.2f / %.2f", page.Median(each(ours, cpu)).Seconds(), page.Median(each(theirs, cpu)).Seconds()),
		fmt.Sprintf("%d / %d", page.Median(each(ours, peak))>>20, page.Median(each(theirs, peak))>>20),
	}
	if r.wanted > 0 {
		cells[5] = fmt.Sprintf("≤ %g", r.wanted)
	}
	return "| " + strings.Join(cells, " | ") + " |"
}

// traffic returns a sentence that compares the transferred bytes. If bytes were not
// counted, traffic returns an empty string.
func (m measured) traffic() string {
	if m.fewer == 0 {
		return ""
	}
	r := m.rows[0]
	name := m.fastest(r.against)
	ours, theirs := page.Median(each(m.took[r.ours], network)), page.Median(each(m.took[name], network))
	return fmt.Sprintf("\n%s transferred %.1f kB over the network, %s %.1f MB: %d times as much (target: ≥ %d).\n",
		r.work, float64(ours)/1e3, name, float64(theirs)/1e6, theirs/max(ours, 1), m.fewer)
}

// verdict formats a ratio. The ratio is bold if it exceeds the target.
func verdict(ratio, wanted float64) string {
	text := fmt.Sprintf("%.2f", ratio)
	if wanted > 0 && ratio > wanted {
		text = "**" + text + "**"
	}
	return text
}

// most returns the highest peak memory of tofu-oci in any round, and the name of the
// corresponding work.
func (t table) most() (peakBytes int64, work string) {
	for _, m := range t.measured {
		if m.another {
			continue
		}
		for _, r := range m.rows {
			if p := slices.Max(each(m.took[r.ours], peak)); p > peakBytes {
				peakBytes, work = p, m.name+", "+r.ours
			}
		}
	}
	return peakBytes, work
}

// String returns the table in Markdown.
func (t table) String() string {
	kind := ""
	if fs := t.place.fileSystem(); fs != "" {
		kind = " (" + fs + ")"
	}
	var b strings.Builder
	_, _ = fmt.Fprintf(&b, "### On %s%s\n\n", t.place.name, kind)
	b.WriteString("| operation | compared with | wall time, s | ratio | range | target | CPU time, s | peak memory, MiB |\n|---|---|---|---|---|---|---|---|\n")
	for _, m := range t.measured {
		for _, r := range m.rows {
			b.WriteString(m.line(r) + "\n")
		}
	}
	for _, m := range t.measured {
		b.WriteString(m.traffic())
		if m.note != nil {
			b.WriteString("\n" + m.note() + "\n")
		}
	}
	if most, work := t.most(); most > 0 {
		_, _ = fmt.Fprintf(&b, "\nThe idle program (`list`) used %d MiB. The highest peak memory was %d MiB above that (%s; target: ≤ 64 MiB).\n", t.idle>>20, (most-t.idle)>>20, work)
	}
	return b.String()
}

// report returns all tables and a description of the environment.
func report(ctx context.Context, p programs, rounds int, tables []table) (string, error) {
	versions, err := p.versions(ctx)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	_, _ = fmt.Fprintf(&b, "%s; on %s. %s.\n\n", page.Machine(), time.Now().UTC().Format(time.DateOnly), versions)
	_, _ = fmt.Fprintf(&b, "Values are tofu-oci / the other program, as medians of %d alternating runs. *ratio* compares the median wall times and is bold if it misses "+
		"the target. *range* is the lowest and the highest ratio of two consecutive runs. CPU time is the sum over all processes of a command, and memory is the maximum.\n", rounds)
	if !slices.ContainsFunc(tables, func(t table) bool { return t.place.memory }) {
		b.WriteString("This machine has no in-memory file system that all users can write to.\n")
	}
	for _, t := range tables {
		b.WriteString("\n" + t.String())
	}
	return b.String(), nil
}
