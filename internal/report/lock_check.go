package report

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/tofu-oci/tofu-oci/internal/explain"
	"github.com/tofu-oci/tofu-oci/internal/finding"
	"github.com/tofu-oci/tofu-oci/internal/lock"
	"github.com/tofu-oci/tofu-oci/internal/outcome"
	"github.com/tofu-oci/tofu-oci/internal/text"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// LockCheck is the report of lock --check.
type LockCheck struct {
	*Report
	items   []lockCheckItem
	summary lockCheckSummary
}

// NewLockCheck returns the report of lock --check for the given platforms.
func NewLockCheck(o *Report, platforms []provider.Platform) *LockCheck {
	o.Command += " --check" // for the heading of the job summary
	return &LockCheck{Report: o, summary: lockCheckSummary{Platforms: text.Strings(platforms)}}
}

// lockCheckItem is a provider in a lock file, or a lock file that could not be read.
type lockCheckItem struct {
	File string `json:"file"`
	// Line is the line number of the provider's block.
	Line     int    `json:"line,omitempty"`
	Provider string `json:"provider,omitempty"`
	Version  string `json:"version,omitempty"`
	// UnknownHashes is the number of hashes that are missing from the repository's
	// metadata.
	UnknownHashes int `json:"unknown_hashes,omitempty"`
	// UncheckedZips is the number of zips whose existence was not checked, because
	// origin registries provide only their URLs.
	UncheckedZips int               `json:"unchecked_zips,omitempty"`
	Findings      []finding.Finding `json:"findings,omitempty"`
	// Error explains why the lock file or the provider could not be checked.
	Error *outcome.ErrorItem `json:"error,omitempty"`
}

// lockCheckSummary is the summary of lock --check.
type lockCheckSummary struct {
	Files     int      `json:"files"`
	Providers int      `json:"providers"`
	Platforms []string `json:"platforms"`
	// UnknownHashes and UncheckedZips are the totals of all items.
	UnknownHashes int `json:"unknown_hashes"`
	UncheckedZips int `json:"unchecked_zips,omitempty"`
	findingCounts
	// Failed is the number of items with an error.
	Failed int `json:"failed"`
}

// Checked records the result for a lock file. err, if not nil, explains why the file could
// not be checked.
func (r *LockCheck) Checked(path string, checked []lock.Checked, err error) {
	r.summary.Files++
	fail := func(i lockCheckItem, err error) {
		i.Error = outcome.DescribeError(err)
		r.items, r.errors = append(r.items, i), append(r.errors, err)
		r.summary.Failed++
		r.printError(inFile(i.File, err))
	}
	if err != nil {
		fail(lockCheckItem{File: path}, err)
	}
	for _, c := range checked {
		r.summary.Providers++
		r.summary.UnknownHashes += c.Unknown
		r.summary.UncheckedZips += c.Unchecked
		for _, f := range c.Findings {
			r.summary.count(f.Severity, 1)
		}
		i := lockCheckItem{
			File: path, Line: c.Selection.Line, Provider: c.Selection.Address.String(), Version: c.Selection.Version.String(),
			UnknownHashes: c.Unknown, UncheckedZips: c.Unchecked, Findings: c.Findings,
		}
		if c.Err != nil {
			fail(i, c.Err)
			continue
		}
		r.items = append(r.items, i)
	}
}

// Finish prints the result for all lock files. The exit code reports, in this order of
// precedence, hashes that do not match, missing versions or packages, or an error.
func (r *LockCheck) Finish() error {
	r.result = r
	found, code := found{rules: lock.Rules()}, 0
	for _, i := range r.items {
		for _, f := range i.Findings {
			found.findings = append(found.findings, f)
			switch {
			case !f.IsMissing():
				code = explain.ExitUnverified
			case code == 0:
				code = explain.ExitNotFound
			}
		}
		if i.Error != nil {
			found.failed = append(found.failed, finding.Finding{Subject: finding.Subject{File: i.File, Provider: i.Provider, Version: i.Version}, Message: i.Error.Message})
		}
	}
	if err := printFindings(r.Report, "lock-check", r.items, r.summary, found, r.text()); err != nil {
		return err
	}
	if code != 0 {
		return &explain.ExitError{Code: code}
	}
	return explain.Items(len(r.items)-r.summary.Failed, r.errors)
}

// text returns the lines after the findings.
func (r *LockCheck) text() string {
	text := r.line() + "\n"
	if r.summary.UnknownHashes > 0 {
		text += fmt.Sprintf("hashes unknown to the repository: %d\n", r.summary.UnknownHashes)
	}
	if r.summary.UncheckedZips > 0 {
		text += fmt.Sprintf("unchecked zips in origin registries: %d; to check a mirror instead, use --from\n", r.summary.UncheckedZips)
	}
	return text
}

// line summarizes the result in one line.
func (r *LockCheck) line() string {
	s := r.summary
	line := fmt.Sprintf("%s in %s, for %s: ", Counted(s.Providers, "provider"), Counted(s.Files, "lock file"), strings.Join(s.Platforms, ", "))
	switch {
	case s.Errors > 0:
		return line + Counted(s.Errors, "finding")
	case s.Failed > 0:
		return line + fmt.Sprintf("%d could not be checked", s.Failed)
	case s.UncheckedZips > 0:
		return line + "the metadata is complete"
	}
	return line + "all providers can be installed"
}

// markdown returns the job summary.
func (r *LockCheck) markdown(heading string, whole *outcome.ErrorItem) *markdown {
	m := &markdown{heading: heading, columns: []string{"lock file", "provider", "version", "platform", "finding"}}
	m.fail("", whole)
	for _, i := range r.items {
		file := filepath.ToSlash(i.File)
		m.fail(file+" "+i.Provider+" "+i.Version, i.Error)
		for _, f := range i.Findings {
			m.row(asCode(fmt.Sprintf("%s:%d", file, f.Line)), asCode(f.Provider), asCode(f.Version), asCode(f.Platform), asCode(f.Code))
		}
	}
	return m
}
