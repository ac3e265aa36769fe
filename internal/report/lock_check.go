package report

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/tofu-oci/tofu-oci/internal/explain"
	"github.com/tofu-oci/tofu-oci/pkg/finding"
	"github.com/tofu-oci/tofu-oci/pkg/lock"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// lockCheck is what lock --check found, as --output json shows it; docs/cli.md
// documents the fields.
type lockCheck struct {
	Files     int      `json:"files"`
	Providers int      `json:"providers"`
	Platforms []string `json:"platforms"`
	// UnknownHashes counts hashes that the repository knows nothing of.
	UnknownHashes int `json:"unknown_hashes"`
	// UncheckedZips counts zips at origin registries, which provide only their URLs.
	UncheckedZips int           `json:"unchecked_zips,omitempty"`
	Findings      []lockFinding `json:"findings"`
	// Failed are lock files and providers that could not be looked at.
	Failed []lockFailure `json:"failed,omitempty"`

	// looked counts the providers that were looked at.
	looked int
}

// lockFinding is a finding in a lock file.
type lockFinding struct {
	File     string `json:"file"`
	Line     int    `json:"line"`
	Provider string `json:"provider"`
	Version  string `json:"version"`
	Platform string `json:"platform,omitempty"`
	finding.Finding
}

type lockFailure struct {
	File     string     `json:"file"`
	Provider string     `json:"provider,omitempty"`
	Version  string     `json:"version,omitempty"`
	Error    *ErrorItem `json:"error"`
}

// CheckedLock adds what was found of a lock file; err is why it could not be looked at.
func (o *Report) CheckedLock(path string, checked []lock.Checked, err error) {
	r := &o.checking
	r.Files++
	fail := func(f lockFailure, err error) {
		f.Error = describeError(err)
		r.Failed, o.errors = append(r.Failed, f), append(o.errors, err)
		o.sayError(inFile(f.File, err))
	}
	if err != nil {
		fail(lockFailure{File: path}, err)
	}
	for _, c := range checked {
		r.Providers++
		r.UnknownHashes += c.Unknown
		r.UncheckedZips += c.Unchecked
		for _, f := range c.Findings {
			r.Findings = append(r.Findings, lockFinding{f.Subject.File, f.Subject.Line, f.Subject.Provider, f.Subject.Version, f.Subject.Platform, f})
		}
		if c.Err == nil {
			r.looked++
			continue
		}
		fail(lockFailure{File: path, Provider: c.Selection.Address.String(), Version: c.Selection.Version.String()}, c.Err)
	}
}

// LockChecked prints what was found. Hashes that disagree come before what is
// missing, and both before what could not be looked at.
func (o *Report) LockChecked(platforms []provider.Platform) error {
	r := &o.checking
	o.checked = r
	r.Findings = append([]lockFinding{}, r.Findings...) // not null in JSON
	for _, p := range platforms {
		r.Platforms = append(r.Platforms, p.String())
	}
	found, code := found{rules: lock.Rules()}, 0
	for _, f := range r.Findings {
		found.findings = append(found.findings, f.Finding)
		switch {
		case !f.IsMissing():
			code = explain.ExitUnverified
		case code == 0:
			code = explain.ExitNotFound
		}
	}
	for _, f := range r.Failed {
		found.failed = append(found.failed, failure{finding.Subject{File: f.File, Provider: f.Provider, Version: f.Version}, f.Error.Message})
	}
	if err := o.printFindings("lock-check", *r, found, r.summary()); err != nil {
		return err
	}
	if code != 0 {
		return &explain.ExitError{Code: code}
	}
	return explain.Items(r.looked, o.errors)
}

func (r lockCheck) summary() string {
	text := r.line() + "\n"
	if r.UnknownHashes > 0 {
		text += fmt.Sprintf("hashes that the repository knows nothing of: %d\n", r.UnknownHashes)
	}
	if r.UncheckedZips > 0 {
		text += fmt.Sprintf("zips at origin registries, not checked: %d\n", r.UncheckedZips)
	}
	return text
}

// line is what it comes to.
func (r lockCheck) line() string {
	line := fmt.Sprintf("%s in %s, for %s: ", Counted(r.Providers, "provider"), Counted(r.Files, "lock file"), strings.Join(r.Platforms, ", "))
	switch {
	case len(r.Findings) > 0:
		return line + Counted(len(r.Findings), "finding")
	case len(r.Failed) > 0:
		return line + fmt.Sprintf("%d could not be looked at", len(r.Failed))
	}
	if r.UncheckedZips > 0 {
		return line + "nothing is missing in the metadata"
	}
	return line + "all can be installed"
}

// markdown is the summary of a job in which lock --check ran.
func (r lockCheck) markdown(heading string) markdown {
	m := markdown{
		heading: heading,
		columns: "| lock file | provider | version | platform | finding |\n|---|---|---|---|---|\n",
	}
	for _, f := range r.Failed {
		m.failures = append(m.failures, fmt.Sprintf("- %s: %s\n", asCode(filepath.ToSlash(f.File)+" "+f.Provider+" "+f.Version), asCode(f.Error.Message)))
	}
	for _, f := range r.Findings {
		m.rows = append(m.rows, fmt.Sprintf("| %s | %s | %s | %s | %s |\n",
			asCode(fmt.Sprintf("%s:%d", filepath.ToSlash(f.File), f.Line)), asCode(f.Provider), asCode(f.Version), asCode(f.Platform), asCode(f.Code)))
	}
	return m
}
