package report

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/tofu-oci/tofu-oci/internal/catalog"
	"github.com/tofu-oci/tofu-oci/internal/explain"
	"github.com/tofu-oci/tofu-oci/internal/finding"
	"github.com/tofu-oci/tofu-oci/internal/outcome"
	"github.com/tofu-oci/tofu-oci/internal/serve/api"
	"github.com/tofu-oci/tofu-oci/internal/text"
	"github.com/tofu-oci/tofu-oci/internal/verify"
	"github.com/tofu-oci/tofu-oci/pkg/artifact"
	"github.com/tofu-oci/tofu-oci/pkg/module"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/template"
	"github.com/tofu-oci/tofu-oci/pkg/trust"
)

// maxNamed is the maximum number of repositories in a note.
const maxNamed = 5

// versionItem is an item that list prints for a PROVIDER.
type versionItem struct {
	Provider string `json:"provider"`
	Version  string `json:"version"`
	Tag      string `json:"tag,omitempty"`
	// Status and Findings are the results of --check-level. With --server, Problem is
	// set instead of Findings.
	Status   string            `json:"status,omitempty"`
	Problem  string            `json:"problem,omitempty"`
	Findings []finding.Finding `json:"findings,omitempty"`
	// Error explains why the status is unknown.
	Error *outcome.ErrorItem `json:"error,omitempty"`
	// Published, Platforms, Size, and Signed are set only with --server.
	Published string   `json:"published,omitempty"`
	Platforms []string `json:"platforms,omitempty"`
	Size      int64    `json:"size,omitempty"`
	Signed    *bool    `json:"signed,omitempty"`
}

// listSummary is the summary that list prints for a PROVIDER.
type listSummary struct {
	// Findings is set only with --check-level.
	Findings *findingCounts `json:"findings,omitempty"`
}

// ListVersions prints versions, newest first.
func (o *Report) ListVersions(a provider.Address, versions []provider.Version) error {
	var items []versionItem
	for _, v := range versions {
		items = append(items, versionItem{Provider: a.String(), Version: v.String()})
	}
	return printItems(o, "list-versions", items, listSummary{}, joinLines(text.Strings(versions)))
}

// ListStatuses prints the status of each version, with its findings.
func (o *Report) ListStatuses(a provider.Address, found []verify.ReleaseStatus) error {
	var items []versionItem
	var summary findingCounts
	var text strings.Builder
	var failed []error
	for _, s := range found {
		v := versionItem{Provider: a.String(), Version: s.Version.String(), Tag: artifact.Tag(s.Version), Status: s.Status, Findings: s.Findings, Error: outcome.DescribeError(s.Err)}
		if s.Err != nil {
			failed = append(failed, s.Err)
		}
		items = append(items, v)
		text.WriteString(v.line() + "\n")
		if len(v.Findings) > 0 {
			text.WriteString(indented(remedyText(v.Findings[0].Remedy)))
		}
		for _, f := range v.Findings {
			summary.count(f.Severity, 1)
		}
	}
	o.EndProgress()
	if err := printItems(o, "list-versions", items, listSummary{&summary}, text.String()); err != nil {
		return err
	}
	if summary != (findingCounts{}) {
		return &explain.ExitError{Code: explain.ExitUnverified}
	}
	return explain.Items(len(found)-len(failed), failed)
}

// line returns the version's status and the message of the first finding.
func (v versionItem) line() string {
	text := v.Version + "  " + v.Status
	switch more := len(v.Findings) - 1; {
	case v.Error != nil:
		text += ": " + v.Error.Message
	case more >= 0:
		text += ": " + strings.TrimSuffix(v.Findings[0].Message, ".")
		if more > 0 {
			text += fmt.Sprintf(" (and %d more)", more)
		}
	}
	return OneLine(text)
}

// releaseItem is the item that list prints for a PROVIDER with an exact version.
type releaseItem struct {
	Provider   string                 `json:"provider"`
	Version    string                 `json:"version"`
	Repository string                 `json:"repository,omitempty"`
	Tag        string                 `json:"tag"`
	Digest     string                 `json:"digest,omitempty"`
	Published  string                 `json:"published,omitempty"`
	Protocols  []string               `json:"protocols,omitempty"`
	Packages   []PackageItem          `json:"packages"`
	Evidence   []EvidenceItem         `json:"evidence"`
	Signature  *outcome.SignatureItem `json:"signature,omitempty"`
	// Status, Problem, Findings, and Lock are set only with --server. Lock is the
	// provider's block in a lock file.
	Status   string            `json:"status,omitempty"`
	Problem  string            `json:"problem,omitempty"`
	Findings []finding.Finding `json:"findings,omitempty"`
	Lock     string            `json:"lock,omitempty"`

	// verdict describes the signature in one line.
	verdict string
}

// ListRelease prints a release. If refused is not nil, it explains why pull would
// reject the release.
func (o *Report) ListRelease(r provider.Release, referrers []provider.Document, v provider.Verdict, refused *trust.RefusedError) error {
	i := releaseItem{
		Provider: r.Address.String(), Version: r.Version.String(), Repository: r.Stored.Repository, Tag: cmp.Or(r.Stored.Tag, artifact.Tag(r.Version)), Digest: r.Stored.Digest.String(),
		Published: dateText(r.Published), Protocols: r.Protocols, Evidence: evidence(r.Documents, r.Packages), Signature: outcome.DescribeVerdict(v),
		verdict: v.String(), Packages: describePackages(r.Packages),
	}
	for _, document := range referrers {
		e := evidenceItem(document)
		e.Referrer = true
		i.Evidence = append(i.Evidence, e)
	}
	if refused != nil && i.Signature != nil {
		i.Signature.Refused = refused.Problem
	}
	return o.printRelease(i)
}

func (o *Report) printRelease(i releaseItem) error {
	lines := []string{i.Provider + " " + i.Version}
	if i.Published != "" {
		lines = append(lines, "published "+i.Published)
	}
	if _, pending := artifact.ParsePending(i.Tag); pending {
		lines = append(lines, "needs approval (tag "+i.Tag+")")
	}
	if len(i.Protocols) > 0 {
		lines = append(lines, "protocols "+strings.Join(i.Protocols, ", "))
	}
	if i.Problem != "" {
		lines = append(lines, i.Status+": "+i.Problem)
	}
	lines = append(lines, i.verdict)
	if i.Signature != nil && i.Signature.Refused != "" {
		lines = append(lines, "refused: "+i.Signature.Refused)
	}
	var rows []string
	for _, p := range i.Packages {
		rows = append(rows, cells(p.Platform, p.Filename, p.size(), p.Digest, cmp.Or(p.H1, p.Problem)))
	}
	for _, e := range i.Evidence {
		kind := "evidence"
		if e.Referrer {
			kind = "referrer"
		}
		rows = append(rows, cells(kind, e.Name, Size(e.Size), e.MediaType, e.Platform))
	}
	for _, f := range i.Findings {
		rows = append(rows, cells(string(f.Severity), f.Code, "", f.Message, f.Platform))
	}
	return printItems(o, "list-release", []releaseItem{i}, none{}, joinLines(lines)+o.table(rows))
}

// ProviderItem is an item that list prints if no PROVIDER is specified.
type ProviderItem struct {
	Provider   string `json:"provider"`
	Repository string `json:"repository,omitempty"`
	// Latest is the newest version. It is set only with --server.
	Latest string `json:"latest,omitempty"`
}

// repositorySummary is the summary for lists of a template's repositories.
type repositorySummary struct {
	// Unknown contains the repositories whose provider is unknown.
	Unknown []string `json:"unknown_repositories,omitempty"`
}

// ListProviders prints providers, sorted by address.
func (o *Report) ListProviders(t template.Template, l catalog.Listing) error {
	var items []ProviderItem
	for _, e := range l.Entries {
		items = append(items, ProviderItem{Provider: e.Address.String(), Repository: e.Reference.String()})
	}
	unknown := o.Unknown(l)
	if len(items) == 0 {
		o.Note("no providers in the repositories of %s", t.Redacted())
	}
	return o.PrintProviders(items, unknown)
}

// PrintProviders prints providers in the given order.
func (o *Report) PrintProviders(items []ProviderItem, unknown []string) error {
	var names []string
	for _, i := range items {
		names = append(names, i.Provider)
	}
	return printItems(o, "list-providers", items, repositorySummary{unknown}, joinLines(names))
}

// moduleItem is an item that module list prints if no module is specified.
type moduleItem struct {
	// Provider is the reference to the repository. Address is the module's address in
	// its registry, if the module was mirrored.
	Provider string `json:"provider"`
	Address  string `json:"address,omitempty"`
	// Latest is the newest version.
	Latest string `json:"latest"`
}

// ListModules prints the modules in the repositories of a template. unknown contains
// the repositories that can't be read.
func (o *Report) ListModules(from string, modules []catalog.ModuleEntry, unknown []template.Reference) error {
	var items []moduleItem
	var rows []string
	for _, m := range modules {
		i := moduleItem{Provider: module.Reference{Repository: m.Reference}.String(), Address: m.Address, Latest: m.Latest.String()}
		items = append(items, i)
		rows = append(rows, cells(i.Provider, i.Latest, i.Address))
	}
	if len(items) == 0 {
		o.Note("no modules in the repositories of %s", from)
	}
	return printItems(o, "list-modules", items, repositorySummary{o.Unknown(catalog.Listing{Unknown: unknown})}, o.table(rows))
}

// Unknown prints a note about the repositories whose provider is unknown, and returns
// these repositories.
func (o *Report) Unknown(l catalog.Listing) []string {
	unknown := text.Strings(l.Unknown)
	if len(unknown) > 0 {
		some := strings.Join(unknown[:min(len(unknown), maxNamed)], ", ")
		if more := len(unknown) - maxNamed; more > 0 {
			some += fmt.Sprintf(" and %d more", more)
		}
		o.Note("not listed, because their provider is unknown: %s", some)
	}
	return unknown
}

// ListServedProviders prints a server's providers.
func (o *Report) ListServedProviders(found api.Providers) error {
	for _, warning := range found.Warnings {
		o.Note("%s", OneLine(warning))
	}
	var items []ProviderItem
	for _, p := range found.Providers {
		items = append(items, ProviderItem{Provider: p.Address, Repository: p.Repository, Latest: p.Latest})
	}
	return o.PrintProviders(items, nil)
}

// ListServedVersions prints the versions of a provider on a server, newest first.
func (o *Report) ListServedVersions(a provider.Address, versions []api.VersionRef) error {
	var items []versionItem
	var lines []string
	for _, v := range versions {
		i := versionItem{
			Provider: a.String(), Version: v.Version, Tag: v.Tag, Status: v.Status, Problem: v.Problem,
			Platforms: v.Platforms, Size: v.Size, Signed: v.Signed,
		}
		if v.Published != nil {
			i.Published = dateText(*v.Published)
		}
		items = append(items, i)
		line := v.Version
		if v.Status != api.StatusComplete {
			line += "  " + v.Status + ": " + v.Problem
		}
		lines = append(lines, line)
	}
	return printItems(o, "list-versions", items, listSummary{}, joinLines(lines))
}

// ListServed prints a server's description of a release.
func (o *Report) ListServed(r api.Version) error {
	i := releaseItem{
		Provider: r.Provider.Address, Version: r.Version, Repository: r.Provider.Repository, Tag: r.Tag, Digest: r.Digest, Protocols: r.Protocols,
		Evidence: []EvidenceItem{}, Status: r.Status, Problem: r.Problem, Findings: r.Findings, Lock: r.Lock, verdict: "not verified: " + r.Unverified,
	}
	if r.Published != nil {
		i.Published = dateText(*r.Published)
	}
	if v := r.Verdict; v != nil {
		i.verdict = v.Text
		i.Signature = &outcome.SignatureItem{Verdict: v.State, Fingerprint: cmp.Or(v.Keys...), Warning: cmp.Or(v.Warnings...), Refused: v.Refused}
	}
	documents := func(referrer bool, all []api.Document) {
		for _, d := range all {
			i.Evidence = append(i.Evidence, EvidenceItem{Name: d.Name, Kind: d.Kind, MediaType: d.MediaType, Size: d.Size, Platform: d.Platform, Referrer: referrer})
		}
	}
	documents(false, r.Evidence)
	for _, p := range r.Packages {
		i.Packages = append(i.Packages, PackageItem{Platform: p.Platform, Filename: p.Filename, Digest: p.Digest, Size: p.Size, H1: p.H1, H1Unpacked: p.H1Unpacked, Problem: p.Problem})
		documents(false, p.Documents)
	}
	documents(true, r.Referrers)
	return o.printRelease(i)
}
