package outcome

import (
	"errors"
	"fmt"

	"github.com/tofu-oci/tofu-oci/internal/serve"
	"github.com/tofu-oci/tofu-oci/internal/sync"
)

// Served merges the results of the last run and returns the result that a server shows.
// It returns an error if a file can't be read or a shard is missing.
func Served(paths []string) (result serve.SyncResult, err error) {
	d, problems, err := Merge(paths, 0)
	if err := errors.Join(append(problems, err)...); err != nil {
		return result, fmt.Errorf("reading the results of sync: %w", err)
	}
	result.Finished = d.Summary.Finished
	for _, i := range d.Items {
		if state := i.served(); state != "" {
			result.Items = append(result.Items, serve.SyncItem{State: state, Address: i.Provider, Version: i.Version, Reason: i.Reason})
		}
	}
	return result, nil
}

// served returns the state that the server shows for an item. It returns "" if the
// version is unchanged, or if only its removal is held back.
func (i Item) served() serve.SyncState {
	switch action := sync.Kind(i.Action); {
	case i.Error != nil || i.Status == StatusFailed:
		return serve.SyncFailed
	case action == sync.Hold && i.From == "":
		return serve.SyncHeld
	case action == sync.Pending, action == sync.Stage:
		return serve.SyncPending
	case action == sync.Hold, action == sync.Skip, action == sync.Mark, action == sync.Unmark:
		return ""
	}
	return serve.SyncChanged
}
