package report

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"strings"
	"sync"

	"github.com/tofu-oci/tofu-oci/internal/explain"
	"github.com/tofu-oci/tofu-oci/internal/lock"
	"github.com/tofu-oci/tofu-oci/internal/outcome"
	"github.com/tofu-oci/tofu-oci/pkg/lockfile"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// lockSummary is the summary of lock.
type lockSummary struct {
	// Statuses maps each status to the number of lock files.
	Statuses map[string]int `json:"statuses"`
}

// lockedFile is the result for a lock file.
type lockedFile struct {
	File string `json:"file"`
	// Status is "written", "planned", "unchanged", or "failed".
	Status    string           `json:"status"`
	Providers []lockedProvider `json:"providers,omitempty"`
	// Removed contains the unused providers that were removed from the lock file.
	Removed []string `json:"removed,omitempty"`
	// Unresolved contains the modules whose requirements are unknown.
	Unresolved []string `json:"unresolved_modules,omitempty"`
	// Diff contains the changes as a unified diff.
	Diff  string             `json:"diff,omitempty"`
	Error *outcome.ErrorItem `json:"error,omitempty"`

	errors []error
}

type lockedProvider struct {
	Provider string `json:"provider"`
	Version  string `json:"version,omitempty"`
	// Previous is the previously locked version. Predecessor is the provider for which
	// this version was locked, if it is a different provider.
	Previous    string             `json:"previous_version,omitempty"`
	Predecessor string             `json:"predecessor,omitempty"`
	Constraints string             `json:"constraints,omitempty"`
	Hashes      []lockfile.Hash    `json:"hashes,omitempty"`
	Error       *outcome.ErrorItem `json:"error,omitempty"`
}

// Lock is the report of lock.
type Lock struct {
	*Report
	files []lockedFile
}

// Locked prints the result for a lock file. If failure is not nil, the file was not
// written.
func (o *Lock) Locked(c lock.Change, failure error) error {
	f := lockedFile{File: c.Path, Unresolved: c.Unread}
	var lines []string
	reasons := map[provider.Address]string{} // for removing a provider
	for _, p := range c.Providers {
		one := lockedProvider{Provider: p.Requirement.Address.String(), Hashes: p.Selection.Hashes, Constraints: lockfile.FormatConstraints(p.Selection.Constraints)}
		if p.Previous != nil {
			one.Previous = p.Previous.Version.String()
			if before := p.Previous.Predecessor; before != (provider.Address{}) {
				one.Predecessor = before.String()
				reasons[before] = "replaced by " + one.Provider
			}
		}
		if one.Error = outcome.DescribeError(p.Err); p.Err != nil {
			f.errors = append(f.errors, p.Err)
		} else {
			one.Version = p.Selection.Version.String()
			was := one.Predecessor
			if one.Previous != one.Version {
				was += " " + one.Previous
			}
			if was = strings.TrimSpace(was); was != "" {
				was = " (was " + was + ")"
			}
			lines = append(lines, fmt.Sprintf("  %s %s%s  %s\n", one.Provider, one.Version, was, countHashes(one.Hashes)))
		}
		f.Providers = append(f.Providers, one)
	}
	for _, a := range c.Removed {
		f.Removed = append(f.Removed, a.String())
		lines = append(lines, fmt.Sprintf("  %s removed: %s\n", a, cmp.Or(reasons[a], "the configuration doesn't require it")))
	}
	o.setStatus(&f, c, failure)
	o.files = append(o.files, f)
	for _, module := range f.Unresolved {
		o.Warn("%s: the requirements of module %s are unknown; run tofu init or tofu get to install it", f.File, module)
	}
	for _, err := range f.errors {
		o.printError(inFile(f.File, err))
	}
	if o.json {
		return nil
	}
	_, err := io.WriteString(o.resultWriter(), Printable(fit(f.File+" "+f.Status+"\n"+strings.Join(lines, ""), o.columns)+f.Diff))
	return err
}

// setStatus sets the status, the diff, and the error for the whole file.
func (o *Lock) setStatus(f *lockedFile, c lock.Change, err error) {
	failed := err != nil || len(f.errors) > 0
	f.Diff = UnifiedDiff(f.File, c.Old, c.New)
	switch {
	case failed:
		f.Status, f.Diff = "failed", ""
	case f.Diff == "":
		f.Status = "unchanged"
	case o.DryRun:
		f.Status = "planned"
	default:
		f.Status = "written"
	}
	if c.Incomplete && !failed {
		err = fmt.Errorf("no new versions were selected, and locked versions were kept: %w", lock.ErrIncomplete)
	}
	if f.Error = outcome.DescribeError(err); err != nil {
		f.errors = append(f.errors, err)
	}
}

// inFile adds a file's path to an error that doesn't contain the path.
func inFile(path string, err error) error {
	if strings.Contains(err.Error(), path) {
		return err
	}
	return fmt.Errorf("%s: %w", path, err)
}

// countHashes returns the number of hashes for each scheme, for example "4 h1, 4 zh".
func countHashes(hashes []lockfile.Hash) string {
	var parts []string
	for i := 0; i < len(hashes); {
		scheme, n := hashes[i].Scheme(), 0
		for ; i < len(hashes) && hashes[i].Scheme() == scheme; i++ {
			n++
		}
		parts = append(parts, fmt.Sprintf("%d %s", n, scheme))
	}
	return strings.Join(parts, ", ")
}

// Finish prints the JSON document and returns the run's error.
func (o *Lock) Finish() error {
	o.EndProgress()
	summary := lockSummary{map[string]int{}}
	for _, f := range o.files {
		summary.Statuses[f.Status]++
	}
	if o.json {
		if err := printItems(o.Report, "lock", o.files, summary, ""); err != nil {
			return err
		}
	}
	done := 0
	var failed []error
	for _, f := range o.files {
		failed = append(failed, f.errors...)
		if f.Status != "failed" { // incomplete files are written, but their results have errors
			done++
		}
	}
	return explain.Items(done, failed)
}

// Warning returns a function that calls verify. For each release, the function prints
// the verdict's warning once. Use it in commands whose results don't contain verdicts.
func (o *Report) Warning(verify func(context.Context, provider.Release) (provider.Verdict, error)) func(context.Context, provider.Release) (provider.Verdict, error) {
	var verified sync.Map
	return func(ctx context.Context, r provider.Release) (provider.Verdict, error) {
		v, err := verify(ctx, r)
		if _, again := verified.LoadOrStore(packageKey{address: r.Address, version: r.Version}, true); err == nil && !again {
			o.verdict(r.Address, r.Version.String(), v)
		}
		return v, err
	}
}
