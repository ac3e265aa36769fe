package report

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/tofu-oci/tofu-oci/pkg/store"
)

// amount is how many entries there are, and how large they are together.
type amount struct {
	Count int   `json:"count"`
	Bytes int64 `json:"bytes"`
}

func amountOf(entries []store.Entry) (a amount) {
	for _, e := range entries {
		a.Count++
		a.Bytes += e.Size
	}
	return a
}

func (a amount) String() string { return fmt.Sprintf("%d, %s", a.Count, Size(a.Bytes)) }

// cacheInfo prints what a cache holds; entries are sorted by use.
func (o *Report) CacheInfo(dir string, entries []store.Entry) error {
	of := func(kind store.Kind) amount {
		return amountOf(slices.DeleteFunc(slices.Clone(entries), func(e store.Entry) bool { return e.Kind != kind }))
	}
	var oldest, newest string
	if len(entries) > 0 {
		oldest, newest = instant(entries[0].Used), instant(entries[len(entries)-1].Used)
	}
	if o.json {
		return o.PrintDocument(documentCache, cacheDescription{dir, amountOf(entries), of(store.KindZip), of(store.KindUnpacked), of(store.KindMirror), oldest, newest})
	}
	lines := &strings.Builder{}
	table := tabwriter.NewWriter(lines, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintf(table, "location\t%s\nzips\t%s\nunpacked\t%s\nmirrors\t%s\ntotal\t%s\n", OneLine(dir), of(store.KindZip), of(store.KindUnpacked), of(store.KindMirror), amountOf(entries))
	if oldest != "" {
		_, _ = fmt.Fprintf(table, "oldest use\t%s\nnewest use\t%s\n", oldest, newest)
	}
	_ = table.Flush()
	_, err := io.WriteString(o.stdout, Printable(lines.String()))
	return err
}

// instant writes a time, in UTC, to the second.
func instant(t time.Time) string { return t.UTC().Format(time.RFC3339) }

// cachedItem is an entry of a cache as --output json shows it.
type cachedItem struct {
	Kind   string `json:"kind"`
	Digest string `json:"digest"`
	Bytes  int64  `json:"bytes"`
	Used   string `json:"used"`
	InUse  bool   `json:"in_use,omitempty"`
}

// cachePruned prints what was removed from a cache.
func (o *Report) CachePruned(dir string, p store.Pruned) error {
	items := []cachedItem{}
	lines := &strings.Builder{}
	table := tabwriter.NewWriter(lines, 0, 0, 2, ' ', 0)
	add := func(entries []store.Entry, action string, inUse bool) {
		for _, e := range entries {
			items = append(items, cachedItem{string(e.Kind), e.Digest.String(), e.Size, instant(e.Used), inUse})
			_, _ = fmt.Fprintf(table, "%s\t%s\t%s\t%s\tused %s\n", action, e.Kind, Size(e.Size), e.Digest, instant(e.Used))
		}
	}
	action := "removed"
	if o.DryRun {
		action = "would remove"
	}
	add(p.Removed, action, false)
	add(p.InUse, "in use", true)
	_ = table.Flush()
	removed, kept := amountOf(p.Removed), amountOf(slices.Concat(p.InUse, p.Kept))
	if o.json {
		return o.PrintDocument(documentPruned, cachePruning{dir, o.DryRun, items, removed, kept})
	}
	_, _ = fmt.Fprintf(lines, "%s %s; kept %s\n", action, removed, kept)
	_, err := io.WriteString(o.stdout, Printable(lines.String()))
	return err
}

// cacheDescription is what a cache holds.
type cacheDescription struct {
	Location string `json:"location"`
	amount
	Zips      amount `json:"zips"`
	Unpacked  amount `json:"unpacked"`
	Mirrors   amount `json:"mirrors"`
	OldestUse string `json:"oldest_use,omitempty"`
	NewestUse string `json:"newest_use,omitempty"`
}

// cachePruning is what was removed from a cache.
type cachePruning struct {
	Location string       `json:"location"`
	DryRun   bool         `json:"dry_run,omitempty"`
	Entries  []cachedItem `json:"entries"`
	Removed  amount       `json:"removed"`
	Kept     amount       `json:"kept"`
}
