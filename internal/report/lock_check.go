package report

import (
	"fmt"
	"io"
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
		o.SayError(inFile(f.File, err))
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
	o.EndProgress()
	r := &o.checking
	o.checked = r
	r.Findings = append([]lockFinding{}, r.Findings...) // not null in JSON
	for _, p := range platforms {
		r.Platforms = append(r.Platforms, p.String())
	}
	var err error
	switch {
	case o.json:
		err = o.PrintDocument(documentLockCheck, r)
	case o.Format == SARIF:
		err = o.PrintJSON(r.sarif(o.Version))
	case o.Format == GitHub:
		_, err = io.WriteString(o.stdout, r.annotations())
	default:
		_, err = io.WriteString(o.stdout, Printable(r.text()))
	}
	if err != nil {
		return err
	}
	code := 0
	for _, f := range r.Findings {
		switch {
		case !lock.IsMissing(f.Finding):
			code = explain.ExitUnverified
		case code == 0:
			code = explain.ExitNotFound
		}
	}
	if code != 0 {
		return &explain.Exit{Code: code}
	}
	return explain.Items(r.looked, o.errors)
}

// text is for people.
func (r lockCheck) text() string {
	var b strings.Builder
	for _, f := range r.Findings {
		shown := f.Finding
		shown.Message = fmt.Sprintf("%s:%d: %s", f.File, f.Line, f.Message)
		b.WriteString(findingText(shown))
	}
	fmt.Fprintln(&b, r.line())
	if r.UnknownHashes > 0 {
		fmt.Fprintf(&b, "hashes that the repository knows nothing of: %d\n", r.UnknownHashes)
	}
	if r.UncheckedZips > 0 {
		fmt.Fprintf(&b, "zips at origin registries, not checked: %d\n", r.UncheckedZips)
	}
	return b.String()
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

// sarif is for code-scanning pages.
func (r lockCheck) sarif(version string) sarif {
	s := newSARIF(version, lock.Rules())
	for _, f := range r.Findings {
		about := strings.TrimRight(strings.Join([]string{f.Provider, f.Version, f.Platform}, "/"), "/")
		s.add(f.Finding, about, filepath.ToSlash(f.File), f.Line)
	}
	for _, f := range r.Failed {
		s.fail(strings.TrimSpace(f.File + " " + f.Provider + " " + f.Version + ": " + f.Error.Message))
	}
	return s
}

// annotations are the commands by which a job on GitHub shows findings at the lines
// of a change.
// https://docs.github.com/en/actions/reference/workflow-commands-for-github-actions
func (r lockCheck) annotations() string {
	var b strings.Builder
	for _, f := range r.Findings {
		fmt.Fprintf(&b, "::error file=%s,line=%d,title=%s::%s\n", forGitHub(filepath.ToSlash(f.File), true), f.Line, f.Code, forGitHub(f.Message+"\n"+f.Remedy, false))
	}
	for _, f := range r.Failed {
		fmt.Fprintf(&b, "::error file=%s::%s\n", forGitHub(filepath.ToSlash(f.File), true), forGitHub(strings.TrimLeft(f.Provider+" "+f.Version+": ", ": ")+f.Error.Message, false))
	}
	return b.String()
}

// forGitHub escapes the text of a command, or of one of its properties, so that it
// ends neither of them, and begins no other.
func forGitHub(text string, property bool) string {
	text = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A").Replace(Printable(text))
	if property {
		text = strings.NewReplacer(":", "%3A", ",", "%2C").Replace(text)
	}
	return text
}
