package serve

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/tofu-oci/tofu-oci/internal/serve/page"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// SyncResult is the result of a `tofu-oci sync apply` run.
type SyncResult struct {
	// Finished is the time at which the run ended.
	Finished time.Time
	Items    []SyncItem
}

// SyncItem is the result for a version of a provider or module.
type SyncItem struct {
	State SyncState
	// Address is the address of a provider or module.
	Address, Version string
	// Reason explains the state.
	Reason string
}

// SyncState is the state of a version after a run.
type SyncState string

// The states of versions.
const (
	SyncChanged SyncState = "changed"
	SyncPending SyncState = "pending"
	SyncHeld    SyncState = "held"
	SyncFailed  SyncState = "failed"
)

// syncedItem is an item with its parsed address.
type syncedItem struct {
	SyncItem
	address provider.Address
}

// syncResult is a parsed [SyncResult].
type syncResult struct {
	finished time.Time
	items    []syncedItem
}

// lastSync returns the last result, limited to the items that the caller can read.
// Items that are the same for several targets are returned only once. lastSync returns
// nil if the server has no result file, and an empty result if the file can't be read.
func (s *Server) lastSync(x *exchange) *syncResult {
	if s.options.SyncResult == nil {
		return nil
	}
	all, _, err := s.repos.synced.get(x.r.Context(), struct{}{}, func(context.Context) (syncResult, error) {
		result, err := s.options.SyncResult()
		parsed := syncResult{finished: result.Finished}
		for _, i := range result.Items {
			item := syncedItem{SyncItem: i}
			var invalid error
			if item.address, _, invalid = parseAddress(i.Address, strings.Count(i.Address, "/") == 3); invalid == nil {
				parsed.items = append(parsed.items, item)
			}
		}
		slices.SortStableFunc(parsed.items, func(a, b syncedItem) int {
			return cmp.Or(strings.Compare(a.Address, b.Address), strings.Compare(a.Version, b.Version), strings.Compare(string(a.State), string(b.State)))
		})
		parsed.items = slices.CompactFunc(parsed.items, func(a, b syncedItem) bool {
			return a.Address == b.Address && a.Version == b.Version && a.State == b.State
		})
		return parsed, err
	})
	if err != nil {
		return &syncResult{}
	}
	readable := syncResult{finished: all.finished}
	for _, i := range all.items {
		if x.caller.MayRead(i.address) {
			readable.items = append(readable.items, i)
		}
	}
	return &readable
}

// count returns the number of items in a state.
func (r *syncResult) count(state SyncState) (n int) {
	for _, i := range r.items {
		if i.State == state {
			n++
		}
	}
	return n
}

// held returns the matching versions that the run held back.
func (r *syncResult) held(matches func(syncedItem) bool) (held []page.ListedVersion) {
	if r == nil {
		return nil
	}
	for _, i := range r.items {
		if i.State == SyncHeld && matches(i) {
			held = append(held, i.listed())
		}
	}
	return held
}

// listed returns the item as a list entry.
func (i syncedItem) listed() page.ListedVersion {
	host, name, _ := strings.Cut(i.Address, "/")
	l := page.ListedVersion{Host: host, Name: name, Version: i.Version, Reason: clip(i.Reason, longText)}
	l.Path = append([]string{collectionOf(i.address)}, strings.Split(i.Address, "/")...)
	if i.State == SyncPending {
		l.Path = append(l.Path, i.Version)
	}
	return l
}
