package report

import (
	"fmt"
	"io"
	"strings"

	"github.com/tofu-oci/tofu-oci/internal/explain"
	"github.com/tofu-oci/tofu-oci/pkg/finding"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/verify"
)

// verification is what verify found, as --output json shows it; docs/cli.md
// documents the fields.
type verification struct {
	Releases int `json:"releases"`
	// Checked are the releases whose check was completed.
	Checked  []checkedItem    `json:"checked"`
	Errors   int              `json:"errors"`
	Warnings int              `json:"warnings"`
	Notes    int              `json:"notes"`
	Findings []releaseFinding `json:"findings"`
	// More counts the findings that are left out.
	More int `json:"more,omitempty"`
	// Failed are releases and providers that could not be looked at.
	Failed []Item `json:"failed,omitempty"`
	// LeftOut are the pre-releases that --all does not mean.
	LeftOut []LeftOutItem `json:"left_out,omitempty"`
	// Unknown are repositories whose provider is unknown. They were not checked.
	Unknown []string `json:"unknown,omitempty"`
	// failed counts the releases among Failed.
	failed int
}

// releaseFinding is a finding about a release, or about the whole repository.
type releaseFinding struct {
	Provider string `json:"provider"`
	Version  string `json:"version,omitempty"`
	Platform string `json:"platform,omitempty"`
	finding.Finding
}

func describeFindings(findings []finding.Finding) []releaseFinding {
	var described []releaseFinding
	for _, f := range findings {
		described = append(described, releaseFinding{f.Subject.Provider, f.Subject.Version, f.Subject.Platform, f})
	}
	return described
}

// checkedItem is a release that verify checked.
type checkedItem struct {
	Provider   string         `json:"provider"`
	Version    string         `json:"version"`
	Repository string         `json:"repository"`
	Tag        string         `json:"tag"`
	Digest     string         `json:"digest,omitempty"`
	Signature  *SignatureItem `json:"signature,omitempty"`
	Errors     int            `json:"errors"`
	Warnings   int            `json:"warnings"`
	Notes      int            `json:"notes"`
}

func describeChecked(c verify.Checked) checkedItem {
	return checkedItem{
		Provider: c.Address.String(), Version: c.Version.String(), Repository: c.Stored.Repository, Tag: c.Stored.Tag, Digest: c.Stored.Digest.String(),
		Signature: describeVerdict(c.Verdict), Errors: c.Counts[finding.Error], Warnings: c.Counts[finding.Warning], Notes: c.Counts[finding.Note],
	}
}

// verified prints what was found. An error is exit code 4, whatever else failed.
func (o *Report) Verified(reports []verify.Report, unknown []string) error {
	o.EndProgress()
	all := verification{Checked: []checkedItem{}, Findings: []releaseFinding{}, Failed: o.results, LeftOut: o.leftOut, Unknown: unknown}
	for _, r := range reports {
		for _, f := range r.Failed {
			if f.Version != (provider.Version{}) { // else a requirement that means none
				all.failed++
			}
		}
		all.Releases += r.Releases
		for _, c := range r.Checked {
			all.Checked = append(all.Checked, describeChecked(c))
		}
		all.Errors += r.Counts[finding.Error]
		all.Warnings += r.Counts[finding.Warning]
		all.Notes += r.Counts[finding.Note]
		all.Findings = append(all.Findings, describeFindings(r.Findings)...)
		all.More += r.More
	}
	var err error
	switch {
	case o.json:
		err = o.PrintDocument(documentVerify, all)
	case o.Format == SARIF:
		err = o.PrintJSON(all.sarif(o.Version))
	default:
		_, err = io.WriteString(o.stdout, Printable(all.text()))
	}
	switch {
	case err != nil:
		return err
	case all.Errors > 0:
		return &explain.Exit{Code: explain.ExitUnverified}
	}
	return explain.Items(all.Releases-all.failed, o.errors)
}

// text is for people: a line for each finding, its remedy below, and the sum, unless
// errors say already that nothing could be looked at.
func (v verification) text() string {
	var b strings.Builder
	for _, f := range v.Findings {
		about := strings.TrimRight(f.Provider+" "+f.Version+" "+f.Platform, " ")
		f.Message = about + ": " + f.Message
		b.WriteString(findingText(f.Finding))
	}
	if v.More > 0 {
		fmt.Fprintf(&b, "%d more findings\n", v.More)
	}
	if v.Releases == 0 && len(v.Failed) > 0 {
		return b.String()
	}
	failed := ""
	if v.failed > 0 {
		failed = fmt.Sprintf(", %d of which could not be looked at", v.failed)
	}
	fmt.Fprintf(&b, "%s%s: %s, %s, %s\n", Counted(v.Releases, "release"), failed, Counted(v.Errors, "error"), Counted(v.Warnings, "warning"), Counted(v.Notes, "note"))
	return b.String()
}

// sarif is for code-scanning pages. They want a file. There is none, so it is called
// as people call what was found something in.
func (v verification) sarif(version string) sarif {
	s := newSARIF(version, verify.Rules())
	for _, f := range v.Findings {
		about := strings.TrimRight(strings.Join([]string{f.Provider, f.Version, f.Platform}, "/"), "/")
		s.add(f.Finding, about, about, 0)
	}
	if v.More > 0 {
		s.note("warning", fmt.Sprintf("%d more findings are left out", v.More))
	}
	for _, failed := range v.Failed {
		s.fail(failed.Provider + " " + failed.Version + ": " + failed.Error.Message)
	}
	return s
}
