// Package outcome converts errors, sync plans, and sync results to JSON documents,
// merges the results of shards, and sends notifications to webhooks.
package outcome

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/tofu-oci/tofu-oci/internal/atomicfile"
	"github.com/tofu-oci/tofu-oci/internal/bounded"
	"github.com/tofu-oci/tofu-oci/internal/metrics"
	"github.com/tofu-oci/tofu-oci/internal/sync"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// maxFile is the maximum size of a result in bytes. maxValues is the maximum number of
// JSON values in a result. 4,000 providers with 50 changes each require about 200 MB.
const maxFile, maxValues = 512 << 20, 32 << 20

// maxNotified is the maximum number of lines in a notification.
const maxNotified = 20

// Summary summarizes a plan, its result, or the results of several shards.
type Summary struct {
	Declaration sync.PlannedFile `json:"declaration"`
	// Trust is the digest of the trust file.
	Trust      string `json:"trust,omitempty"`
	Shard      string `json:"shard,omitempty"`
	CheckLevel string `json:"check_level"`
	// Unchanged is the number of releases without an item.
	Unchanged int `json:"unchanged"`
	// Actions and Statuses contain the number of items for each action and for each
	// status.
	Actions  map[string]int `json:"actions"`
	Statuses map[string]int `json:"statuses"`
	Bytes    int64          `json:"bytes"`
	// Signatures contains the number of items for each verdict on the signature.
	Signatures map[string]int `json:"signatures,omitempty"`
	// Finished is the time at which apply ended. For several shards, it is the time at
	// which the first shard ended.
	Finished time.Time `json:"finished,omitzero"`
	// Newest maps providers to the publication dates of their newest versions in the
	// targets.
	Newest map[string]time.Time `json:"newest_versions,omitempty"`
	// Problems contains errors that do not concern a specific action, such as
	// unreadable files.
	Problems []ErrorItem `json:"problems,omitempty"`
	// Warnings contains the warnings that do not concern a specific action.
	Warnings []string `json:"warnings,omitempty"`
}

// ErrorItem describes an error in the format that all JSON documents use.
type ErrorItem struct {
	Message  string             `json:"message"`
	Hint     string             `json:"hint,omitempty"`
	Class    provider.ErrorKind `json:"class"`
	ExitCode int                `json:"exit_code"`
}

// Schema is the URL of the JSON Schema for documents.
const Schema = "https://raw.githubusercontent.com/tofu-oci/tofu-oci/main/docs/schema/v2/sync.schema.json"

// Document is a plan, the result of a run, or the results of all shards of a run.
type Document struct {
	Schema  string  `json:"$schema"`
	Items   []Item  `json:"items"`
	Summary Summary `json:"summary"`
	// Planned reports whether the document describes a plan that has not been applied.
	Planned bool `json:"-"`
}

// New returns a document for a plan. The document contains no items.
func New(p *sync.Plan) *Document {
	return &Document{Schema: Schema, Items: []Item{}, Summary: Summary{
		Declaration: p.Declaration, Trust: p.Trust.String(), Shard: p.Shard.String(), CheckLevel: p.CheckLevel, Unchanged: p.Summary.Unchanged,
	}}
}

// Finish completes the summary. problems contains errors that do not concern a specific
// item.
func (d *Document) Finish(problems []error) {
	s := &d.Summary
	for _, problem := range problems {
		s.Problems = append(s.Problems, *DescribeError(problem))
	}
	s.Actions, s.Statuses, s.Signatures, s.Bytes = map[string]int{}, map[string]int{}, map[string]int{}, 0
	for _, i := range d.Items {
		s.Actions[i.Action]++
		s.Statuses[i.Status]++
		s.Bytes += i.Bytes
		if i.Signature != nil {
			s.Signatures[i.Signature.Verdict]++
		}
	}
	if !d.Planned && s.Finished.IsZero() {
		s.Finished = time.Now().UTC().Truncate(time.Second)
	}
}

// Write writes the document to a file.
func (d *Document) Write(path string) error {
	return atomicfile.Write(path, 0o644, func(w io.Writer) error { return json.NewEncoder(w).Encode(d) })
}

// Metrics returns the metrics of a run that ended with the given exit code.
func (d *Document) Metrics(code int) metrics.Sync {
	s := d.Summary
	m := metrics.Sync{Declaration: s.Declaration.Path, Finished: cmp.Or(s.Finished, time.Now()), ExitCode: code, Failed: s.Statuses[StatusFailed], Bytes: s.Bytes, Newest: s.Newest, Actions: map[string]int{"unchanged": s.Unchanged}, Signatures: map[string]int{}}
	for _, action := range Actions() {
		m.Actions[action] = s.Actions[action]
	}
	for _, verdict := range provider.Trusts {
		m.Signatures[string(verdict)] = s.Signatures[string(verdict)]
	}
	m.Warnings = len(s.Warnings)
	for _, i := range d.Items {
		m.Warnings += len(i.Warnings)
	}
	return m
}

// Merge reads the results of all shards of a run and sorts their items by provider.
// problems contains an error for each file that can't be read, for each missing shard
// and, if maxAge is not zero, for each result that is older than maxAge. If no file can
// be read, the document is empty. If two results are for the same shard, Merge returns
// an error of kind [provider.Misuse]. If the results have different declarations, it
// returns an error of kind [provider.Conflict].
func Merge(paths []string, maxAge time.Duration) (all *Document, problems []error, err error) {
	all = &Document{Schema: Schema, Items: []Item{}}
	places, count := map[int]string{}, 0
	for _, path := range paths {
		one, shard, err := read(path, maxAge)
		if err != nil {
			problems = append(problems, err)
			continue
		}
		if s := one.Summary; len(places) == 0 {
			all.Summary = Summary{Declaration: s.Declaration, Trust: s.Trust, CheckLevel: s.CheckLevel, Finished: s.Finished, Newest: map[string]time.Time{}}
			count = shard.Count
		}
		switch before := places[shard.Index]; {
		case one.Summary.Declaration.Digest != all.Summary.Declaration.Digest, one.Summary.Trust != all.Summary.Trust:
			return all, nil, provider.Errorf(provider.Conflict, "%s was produced with a different declaration or trust file than the other results", path)
		case before == path:
			return all, nil, provider.Errorf(provider.Misuse, "%s is specified twice", path)
		case before != "" || shard.Count != count:
			return all, nil, provider.Errorf(provider.Misuse, "%s and %s are results for the same shard or from different runs", path, cmp.Or(before, paths[0]))
		}
		places[shard.Index] = path
		all.add(one)
	}
	for i := 1; i <= count; i++ {
		if places[i] == "" {
			problems = append(problems, provider.Errorf(provider.NotFound, "the result of shard %d/%d is missing", i, count))
		}
	}
	slices.SortStableFunc(all.Items, func(a, b Item) int { return strings.Compare(a.Provider, b.Provider) })
	return all, problems, nil
}

// read reads the result of a shard.
func read(path string, maxAge time.Duration) (d Document, shard sync.Shard, err error) {
	data, err := bounded.ReadFile(path, maxFile)
	if err == nil {
		if err = bounded.DecodeJSON(data, &d, maxValues); err != nil {
			err = fmt.Errorf("not written by sync apply --result-file: %w", err)
		}
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return d, shard, err // the error contains the path
	case err == nil && (d.Schema != Schema || d.Summary.Finished.IsZero()):
		err = errors.New("not written by sync apply --result-file, or written by a different version")
	case err == nil && maxAge > 0 && time.Since(d.Summary.Finished) > maxAge:
		err = fmt.Errorf("the result is too old: the run ended at %s", d.Summary.Finished.Format(time.RFC3339))
	case err == nil:
		shard, err = sync.ParseShard(d.Summary.Shard, func(string) string { return "" })
	}
	if err != nil {
		err = fmt.Errorf("%s: %w", path, err)
	}
	return d, shard, err
}

// add adds the result of a shard to the document.
func (d *Document) add(one Document) {
	d.Items = append(d.Items, one.Items...)
	d.Summary.Unchanged += one.Summary.Unchanged
	d.Summary.Problems = append(d.Summary.Problems, one.Summary.Problems...)
	for _, warning := range one.Summary.Warnings { // the shards share most warnings
		if !slices.Contains(d.Summary.Warnings, warning) {
			d.Summary.Warnings = append(d.Summary.Warnings, warning)
		}
	}
	maps.Copy(d.Summary.Newest, one.Summary.Newest)
	if one.Summary.Finished.Before(d.Summary.Finished) {
		d.Summary.Finished = one.Summary.Finished
	}
}
