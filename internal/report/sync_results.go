package report

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/tofu-oci/tofu-oci/internal/explain"
	"github.com/tofu-oci/tofu-oci/internal/metrics"
	"github.com/tofu-oci/tofu-oci/internal/outcome"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/sync"
)

// maxNotified is the maximum number of lines in a notification.
const maxNotified = 20

// WriteSync writes the result of sync apply to a file that sync report reads.
func (o *Report) WriteSync(path string) error {
	return outcome.Write(path, outcome.Document[syncItem]{Schema: syncSchema, Items: o.sync.items, Summary: o.sync.summary})
}

// MergeSync reads the results of all shards of a run, like [outcome.Merge], and returns their
// declaration.
func (o *Report) MergeSync(paths []string, oldest time.Time) (sync.PlannedFile, []error, error) {
	all, problems, err := outcome.Merge[syncItem](paths, syncSchema, oldest)
	if err != nil {
		return all.Summary.Declaration, problems, err
	}
	o.sync = &syncRun{summary: all.Summary}
	slices.SortStableFunc(all.Items, func(a, b syncItem) int { return strings.Compare(a.Provider, b.Provider) })
	for _, i := range all.Items {
		var err error
		if i.Error != nil {
			err = provider.Errorf(i.Error.Class, "%s", i.Error.Message)
		}
		o.addSync(i, err)
	}
	return all.Summary.Declaration, problems, nil
}

// SetNewest records the publication dates of the newest versions.
func (o *Report) SetNewest(newest map[provider.Address]time.Time) {
	o.sync.summary.Newest = map[string]time.Time{}
	for a, published := range newest {
		o.sync.summary.Newest[a.String()] = published
	}
}

// SyncMetrics returns the metrics of a run that ended with an exit code.
func (o *Report) SyncMetrics(code int) metrics.Sync {
	s := o.sync.summary
	m := metrics.Sync{Declaration: s.Declaration.Path, Finished: s.Finished, ExitCode: code, Failed: len(o.errors), Bytes: s.Bytes, Newest: s.Newest, Actions: map[string]int{"unchanged": s.Unchanged}}
	for _, w := range planWords {
		m.Actions[string(w.kind)] = s.Actions[string(w.kind)]
	}
	return m
}

// SyncMessage returns the notification of a run that ended with an error and an exit code, and
// its summary. The text is empty if nothing changed and nothing failed.
func (o *Report) SyncMessage(code int, err error) (text string, summary outcome.Summary) {
	var failed, changed []string
	for _, problem := range o.sync.summary.Problems {
		failed = append(failed, problem.Message)
	}
	if _, reported := errors.AsType[*explain.ExitError](err); err != nil && !reported {
		failed = append(failed, err.Error())
	}
	for _, i := range o.sync.items {
		line := fmt.Sprintf("%s %s %s %s: %s", i.Provider, i.Version, i.Status, i.Target, i.details())
		switch {
		case i.Error != nil:
			failed = append(failed, line)
		case sync.Kind(i.Action).Changes():
			changed = append(changed, line)
		}
	}
	lines := slices.Concat(failed, changed)
	if len(lines) == 0 {
		return "", o.sync.summary
	}
	if more := len(lines) - maxNotified; more > 0 {
		lines = append(lines[:maxNotified], fmt.Sprintf("and %d more", more))
	}
	return o.heading(code) + " (" + o.sync.summary.Declaration.Path + ")\n" + joinLines(lines), o.sync.summary
}
