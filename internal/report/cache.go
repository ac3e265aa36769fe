package report

import (
	"fmt"
	"slices"

	"github.com/tofu-oci/tofu-oci/pkg/store"
)

// amount contains the number and total size of cache entries.
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

// cacheDescription is the item that cache info prints.
type cacheDescription struct {
	Location string `json:"location"`
	amount
	Zips      amount `json:"zips"`
	Unpacked  amount `json:"unpacked"`
	Mirrors   amount `json:"mirrors"`
	OldestUse string `json:"oldest_use,omitempty"`
	NewestUse string `json:"newest_use,omitempty"`
}

// pruneSummary is the summary that cache prune prints.
type pruneSummary struct {
	Location string `json:"location"`
	DryRun   bool   `json:"dry_run,omitempty"`
	Removed  amount `json:"removed"`
	Kept     amount `json:"kept"`
}

// cachedItem is an item that cache prune prints.
type cachedItem struct {
	Kind   string `json:"kind"`
	Digest string `json:"digest"`
	Bytes  int64  `json:"bytes"`
	Used   string `json:"last_used"`
	InUse  bool   `json:"in_use,omitempty"`
}

// CacheInfo prints the contents of a cache. entries are sorted by last use.
func (o *Report) CacheInfo(dir string, entries []store.Entry) error {
	of := func(kind string) amount {
		return amountOf(slices.DeleteFunc(slices.Clone(entries), func(e store.Entry) bool { return e.Kind != kind }))
	}
	d := cacheDescription{Location: dir, amount: amountOf(entries), Zips: of("zip"), Unpacked: of("unpacked"), Mirrors: of("mirror")}
	rows := []string{
		cells("location", dir), cells("zips", d.Zips.String()), cells("unpacked", d.Unpacked.String()),
		cells("mirrors", d.Mirrors.String()), cells("total", d.amount.String()),
	}
	if len(entries) > 0 {
		d.OldestUse, d.NewestUse = dateText(entries[0].Used), dateText(entries[len(entries)-1].Used)
		rows = append(rows, cells("oldest use", d.OldestUse), cells("newest use", d.NewestUse))
	}
	return printItems(o, "cache", []cacheDescription{d}, none{}, fit(o.table(rows), o.columns))
}

// CachePruned prints the entries that were removed from a cache.
func (o *Report) CachePruned(dir string, p store.Pruned) error {
	summary := pruneSummary{Location: dir, DryRun: o.DryRun, Removed: amountOf(p.Removed), Kept: amountOf(slices.Concat(p.InUse, p.Kept))}
	var items []cachedItem
	var rows []string
	add := func(entries []store.Entry, action string, inUse bool) {
		for _, e := range entries {
			items = append(items, cachedItem{e.Kind, e.Digest.String(), e.Size, dateText(e.Used), inUse})
			rows = append(rows, cells(action, e.Kind, Size(e.Size), e.Digest.String(), "used "+dateText(e.Used)))
		}
	}
	action := "removed"
	if o.DryRun {
		action = "would remove"
	}
	add(p.Removed, action, false)
	add(p.InUse, "in use", true)
	return printItems(o, "cache-prune", items, summary, fit(o.table(rows)+fmt.Sprintf("%s %s; kept %s\n", action, summary.Removed, summary.Kept), o.columns))
}
