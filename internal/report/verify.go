package report

import (
	"fmt"

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

// Verified prints what was found. An error is exit code 4, whatever else failed.
func (o *Report) Verified(reports []verify.Report, unknown []string) error {
	found := found{rules: verify.Rules()}
	all := verification{Checked: []checkedItem{}, Findings: []releaseFinding{}, Failed: o.results, LeftOut: o.leftOut, Unknown: unknown}
	for _, r := range reports {
		for _, f := range r.Failed {
			if f.Version != (provider.Version{}) { // else a requirement that means none
				all.failed++
			}
		}
		all.Releases += r.Releases
		for _, c := range r.Checked {
			all.Checked = append(all.Checked, checkedItem{
				Provider: c.Address.String(), Version: c.Version.String(), Repository: c.Stored.Repository, Tag: c.Stored.Tag, Digest: c.Stored.Digest.String(),
				Signature: describeVerdict(c.Verdict), Errors: c.Counts[finding.Error], Warnings: c.Counts[finding.Warning], Notes: c.Counts[finding.Note],
			})
		}
		all.Errors += r.Counts[finding.Error]
		all.Warnings += r.Counts[finding.Warning]
		all.Notes += r.Counts[finding.Note]
		all.Findings = append(all.Findings, describeFindings(r.Findings)...)
		all.More += r.More
		found.findings = append(found.findings, r.Findings...)
	}
	found.more = all.More
	for _, i := range o.results {
		found.failed = append(found.failed, failure{finding.Subject{Provider: i.Provider, Version: i.Version}, i.Error.Message})
	}
	if err := o.printFindings("verify", all, found, all.summary()); err != nil {
		return err
	}
	if all.Errors > 0 {
		return &explain.ExitError{Code: explain.ExitUnverified}
	}
	return explain.Items(all.Releases-all.failed, o.errors)
}

// summary is the sum, unless errors say already that nothing could be looked at.
func (v verification) summary() string {
	if v.Releases == 0 && len(v.Failed) > 0 {
		return ""
	}
	failed := ""
	if v.failed > 0 {
		failed = fmt.Sprintf(", %d of which could not be looked at", v.failed)
	}
	return fmt.Sprintf("%s%s: %s, %s, %s\n", Counted(v.Releases, "release"), failed, Counted(v.Errors, "error"), Counted(v.Warnings, "warning"), Counted(v.Notes, "note"))
}
