package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/tofu-oci/tofu-oci/internal/description"
	"github.com/tofu-oci/tofu-oci/internal/explain"
	"github.com/tofu-oci/tofu-oci/internal/finding"
	"github.com/tofu-oci/tofu-oci/internal/outcome"
	"github.com/tofu-oci/tofu-oci/internal/verify"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/trust"
)

// verifiedItem is a release that verify checked or failed to check, or a provider with
// findings about the whole repository.
type verifiedItem struct {
	Provider   string                 `json:"provider"`
	Version    string                 `json:"version,omitempty"`
	Repository string                 `json:"repository,omitempty"`
	Tag        string                 `json:"tag,omitempty"`
	Digest     string                 `json:"digest,omitempty"`
	Signature  *description.Signature `json:"signature,omitempty"`
	findingCounts
	Findings []finding.Finding `json:"findings,omitempty"`
	// Pins contains the fingerprints that the trust file pins.
	Pins []string `json:"pins,omitempty"`
	// SBOM reports whether SBOMs describe all packages.
	SBOM *bool `json:"sbom,omitempty"`
	// Decisions contains the recorded decisions, oldest first.
	Decisions []DecisionItem `json:"decisions,omitempty"`
	// Time is the time of the check.
	Time string `json:"time,omitempty"`
	// Error explains why the release could not be checked.
	Error *outcome.ErrorItem `json:"error,omitempty"`
}

// verifySummary is the summary of verify.
type verifySummary struct {
	// Releases is the number of releases, and Failed is the number of releases that
	// could not be checked.
	Releases int `json:"releases"`
	Failed   int `json:"failed"`
	findingCounts
	// Omitted is the number of findings beyond the limit.
	Omitted int `json:"omitted_findings,omitempty"`
	// Skipped contains the pre-releases that --all skipped.
	Skipped []skippedItem `json:"skipped_pre_releases,omitempty"`
	// Unknown contains the repositories whose provider is unknown. These repositories
	// were not checked.
	Unknown []string `json:"unknown_repositories,omitempty"`
}

// verifyItems returns an item for each checked release and for each repository with
// findings.
func verifyItems(reports []verify.Report, rules trust.Rules) []verifiedItem {
	var items []verifiedItem
	for _, r := range reports {
		if len(r.Findings) > 0 && r.Findings[0].Version == "" {
			i := verifiedItem{Provider: r.Findings[0].Provider}
			i.Findings = findingsAbout(i.Provider, "", r.Findings)
			i.findingCounts = countFindings(i.Findings)
			items = append(items, i)
		}
		for _, c := range r.Checked {
			i := verifiedItem{
				Provider: c.Address.String(), Version: c.Version.String(), Repository: c.Stored.Repository, Tag: c.Stored.Tag, Digest: c.Stored.Digest.String(),
				Signature: description.NewSignature(c.Verdict), SBOM: &c.SBOM, Decisions: describeDecisions(c.Decisions), Time: c.Time.Format(time.RFC3339),
			}
			rule, _ := rules.For(c.Address)
			i.Pins = rule.Fingerprints
			for severity, n := range c.Counts {
				i.count(severity, n)
			}
			i.Findings = findingsAbout(i.Provider, i.Version, r.Findings)
			items = append(items, i)
		}
	}
	return items
}

// findingsAbout returns the findings about a version. If version is empty, it returns
// the findings about the repository.
func findingsAbout(provider, version string, findings []finding.Finding) []finding.Finding {
	return slices.DeleteFunc(slices.Clone(findings), func(f finding.Finding) bool { return f.Provider != provider || f.Version != version })
}

// VerifiedProvider reports which parts of a provider could not be verified. explained
// adds a hint to an error.
func (o *Report) VerifiedProvider(r verify.Report, explained func(error) error) {
	o.SkippedPreReleases(r.Address, r.Skipped)
	for _, err := range r.None {
		o.Note("nothing to verify: %v", err)
	}
	for _, f := range r.Failed {
		repo := ""
		if f.Version != (provider.Version{}) {
			repo = r.Repository
		}
		o.Failed(f.Wanted, f.Version, repo, explained(f.Err))
	}
}

// Verified prints the result of verify. rules contains the pinned keys. If any finding
// is an error, the exit code is 4, even if some checks failed.
func (o *Report) Verified(reports []verify.Report, unknown []string, rules trust.Rules) error {
	found := found{rules: verify.Rules()}
	summary := verifySummary{Skipped: o.skipped, Unknown: unknown}
	for _, r := range reports {
		for _, f := range r.Failed {
			if f.Version != (provider.Version{}) { // without a version, the requirement matched none
				summary.Failed++
			}
		}
		summary.Releases += r.Releases
		for severity, n := range r.Counts {
			summary.count(severity, n)
		}
		summary.Omitted += r.More
		found.findings = append(found.findings, r.Findings...)
	}
	found.more = summary.Omitted
	items := verifyItems(reports, rules)
	for _, i := range o.results {
		found.failed = append(found.failed, finding.Finding{Subject: finding.Subject{Provider: i.Provider, Version: i.Version}, Message: i.Error.Message})
		item := verifiedItem{Provider: i.Provider, Version: i.Version, Repository: i.Repository, Tag: i.Tag, Error: i.Error}
		if i.Tag != "" { // without a tag, the version is a constraint
			item.Findings = findingsAbout(i.Provider, i.Version, found.findings)
			item.findingCounts = countFindings(item.Findings)
		}
		items = append(items, item)
	}
	text := summary.String()
	if summary.Releases == 0 && len(o.results) > 0 {
		text = "" // the printed errors are sufficient
	}
	if o.Format == Markdown {
		found.findings, found.more, text = nil, 0, verifyMarkdown(items, summary)
	}
	if err := printFindings(o, "verify", items, summary, found, text); err != nil {
		return err
	}
	if summary.Errors > 0 {
		return &explain.ExitError{Code: explain.ExitUnverified}
	}
	return explain.Items(summary.Releases-summary.Failed, o.errors)
}

// String summarizes the run in one line.
func (s verifySummary) String() string {
	failed := ""
	if s.Failed > 0 {
		failed = fmt.Sprintf(", %d of which could not be checked", s.Failed)
	}
	return fmt.Sprintf("%s%s: %s, %s, %s\n", Counted(s.Releases, "release"), failed, Counted(s.Errors, "error"), Counted(s.Warnings, "warning"), Counted(s.Notes, "note"))
}

// verifyMarkdown returns the report in Markdown.
func verifyMarkdown(items []verifiedItem, summary verifySummary) string {
	m := &markdown{
		heading: "tofu-oci verify: " + strings.TrimSpace(summary.String()),
		columns: []string{"provider", "version", "digest", "signature", "pins", "SBOM", "gates", "approvals", "checked"},
	}
	for _, i := range items {
		about := i.Provider + " " + i.Version
		m.fail(about, i.Error)
		for _, f := range i.Findings {
			m.fail(about, &outcome.ErrorItem{Message: fmt.Sprintf("%s: %s [%s]", f.Severity, f.Message, f.Code)})
		}
		if i.SBOM == nil {
			continue
		}
		signature, sbom := "", "no"
		if i.Signature != nil {
			signature = joinWords(i.Signature.Verdict, i.Signature.Fingerprint)
		}
		if *i.SBOM {
			sbom = "yes"
		}
		gates, approvals := i.decided()
		m.row(asCode(i.Provider), asCode(i.Version), asCode(i.Digest), asCode(signature), asCode(joinWords(i.Pins...)), sbom, gates, approvals, i.Time)
	}
	text, _ := m.text(maxSummary) // the heading fits
	return text
}

// decided describes the last result of each gate and all decisions by people.
func (i verifiedItem) decided() (gates, approvals string) {
	var names, results, people []string
	for _, d := range i.Decisions {
		name := cmp.Or(d.Gate, d.By)
		signed := ""
		if d.Key != "" {
			signed = "signed by " + d.Key
		}
		text := asCode(joinWords(d.Kind, name, d.Verdict, d.Reason, signed))
		switch {
		case d.Foreign:
		case d.Gate == "":
			people = append(people, text)
		case !slices.Contains(names, name):
			names, results = append(names, name), append(results, text)
		default:
			results[slices.Index(names, name)] = text
		}
	}
	return strings.Join(results, " "), strings.Join(people, " ")
}
