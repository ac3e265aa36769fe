package report

import (
	"cmp"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/tofu-oci/tofu-oci/pkg/template"

	"github.com/tofu-oci/tofu-oci/internal/catalog"
	"github.com/tofu-oci/tofu-oci/internal/explain"
	"github.com/tofu-oci/tofu-oci/pkg/artifact"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/trust"
	"github.com/tofu-oci/tofu-oci/pkg/verify"
)

// versionList are the versions that there are, newest first.
type versionList struct {
	Provider string   `json:"provider"`
	Versions []string `json:"versions"`
	// Checked says of each how much of it is there, with --check.
	Checked []checkedVersion `json:"checked,omitempty"`
}

// listVersions prints versions, newest first.
func (o *Report) ListVersions(a provider.Address, versions []provider.Version) error {
	names := []string{}
	for _, v := range versions {
		names = append(names, v.String())
	}
	if o.json {
		return o.PrintDocument(documentVersions, versionList{Provider: a.String(), Versions: names})
	}
	for _, name := range names {
		_, _ = fmt.Fprintln(o.stdout, name)
	}
	return nil
}

// releaseDescription is what a version holds.
type releaseDescription struct {
	Provider   string         `json:"provider"`
	Version    string         `json:"version"`
	Repository string         `json:"repository,omitempty"`
	Tag        string         `json:"tag"`
	Digest     string         `json:"digest,omitempty"`
	Published  string         `json:"published,omitempty"`
	Protocols  []string       `json:"protocols,omitempty"`
	Packages   []PackageItem  `json:"packages"`
	Evidence   []EvidenceItem `json:"evidence"`
	Signature  *SignatureItem `json:"signature,omitempty"`
	// Approvals are the approvals that promote recorded.
	Approvals []ApprovalItem `json:"approvals,omitempty"`
}

// listRelease prints what a version holds. Refused is why its signature would not
// do, nil when it does.
func (o *Report) ListRelease(r provider.Release, referrers []provider.Document, approvals []artifact.Approval, v provider.Verdict, refused *trust.RefusedError) error {
	tag := cmp.Or(r.Stored.Tag, artifact.Tag(r.Version))
	signature := describeVerdict(v)
	if refused != nil && signature != nil {
		signature.Refused = refused.Problem
	}
	var packages []PackageItem
	evidence := []EvidenceItem{}
	for _, d := range r.Documents {
		evidence = append(evidence, asEvidence(d))
	}
	for _, p := range r.Packages {
		packages = append(packages, describe(p, ""))
		for _, d := range p.Documents {
			evidence = append(evidence, asEvidenceOf(p, d))
		}
	}
	for _, d := range referrers {
		e := asEvidence(d)
		e.Referrer = true
		evidence = append(evidence, e)
	}
	var approved []ApprovalItem
	for _, a := range approvals {
		approved = append(approved, *describeApproval(&a))
	}
	if o.json {
		return o.PrintDocument(documentRelease, releaseDescription{r.Address.String(), r.Version.String(), r.Stored.Repository, tag, r.Stored.Digest.String(), dateText(r.Published), r.Protocols, packages, evidence, signature, approved})
	}
	lines := &strings.Builder{}
	_, _ = fmt.Fprintf(lines, "%s %s\n", r.Address, r.Version)
	if !r.Published.IsZero() {
		_, _ = fmt.Fprintf(lines, "published %s\n", dateText(r.Published))
	}
	if _, waits := artifact.ParsePending(tag); waits {
		_, _ = fmt.Fprintf(lines, "waits for approval under the tag %s\n", tag)
	}
	if len(r.Protocols) > 0 {
		_, _ = fmt.Fprintf(lines, "protocols %s\n", OneLine(strings.Join(r.Protocols, ", ")))
	}
	_, _ = fmt.Fprintf(lines, "%s\n", OneLine(v.String()))
	if refused != nil {
		_, _ = fmt.Fprintf(lines, "refused: %s\n", OneLine(refused.Problem))
	}
	for _, a := range approvals {
		_, _ = fmt.Fprintf(lines, "approved: %s\n", OneLine(a.String()))
	}
	table := tabwriter.NewWriter(lines, 0, 0, 2, ' ', 0)
	for _, p := range packages {
		_, _ = fmt.Fprintln(table, cells(p.Platform, p.Filename, p.size(), p.Digest, p.H1))
	}
	for _, e := range evidence {
		kind := "evidence"
		if e.Referrer {
			kind = "referrer"
		}
		_, _ = fmt.Fprintln(table, cells(kind, e.Name, Size(e.Size), e.MediaType, e.Platform))
	}
	_ = table.Flush()
	_, err := io.WriteString(o.stdout, Printable(lines.String()))
	return err
}

// checkedVersion says how much of a version is there.
type checkedVersion struct {
	Version string `json:"version"`
	Tag     string `json:"tag"`
	Status  string `json:"status"`
	// Findings say why it is not complete, and what heals it.
	Findings []releaseFinding `json:"findings,omitempty"`
	// Error is why that is not known.
	Error *ErrorItem `json:"error,omitempty"`
}

// listStandings prints versions, and what is wrong with them.
func (o *Report) ListStandings(a provider.Address, found []verify.Standing) error {
	list := versionList{Provider: a.String(), Versions: []string{}, Checked: []checkedVersion{}}
	var failed []error
	unsound := false
	for _, s := range found {
		v := checkedVersion{Version: s.Version.String(), Tag: artifact.Tag(s.Version), Status: string(s.Status), Findings: describeFindings(s.Findings)}
		if s.Err != nil {
			v.Error = describeError(s.Err)
			failed = append(failed, s.Err)
		}
		unsound = unsound || len(s.Findings) > 0
		list.Versions, list.Checked = append(list.Versions, v.Version), append(list.Checked, v)
	}
	o.EndProgress()
	if err := o.PrintChecked(list); err != nil {
		return err
	}
	if unsound {
		return &explain.Exit{Code: explain.ExitUnverified}
	}
	return explain.Items(len(found)-len(failed), failed)
}

func (o *Report) PrintChecked(list versionList) error {
	if o.json {
		return o.PrintDocument(documentVersions, list)
	}
	lines := &strings.Builder{}
	for _, v := range list.Checked {
		_, _ = fmt.Fprintln(lines, v.line())
		if len(v.Findings) > 0 {
			lines.WriteString(indented(v.Findings[0].Remedy))
		}
	}
	_, err := io.WriteString(o.stdout, Printable(lines.String()))
	return err
}

// line is for people. The first finding is told, and how many more there are.
func (v checkedVersion) line() string {
	text := v.Version + "  " + v.Status
	switch more := len(v.Findings) - 1; {
	case v.Error != nil:
		text += ": " + v.Error.Message
	case more >= 0:
		f := v.Findings[0]
		text += ": " + strings.TrimSuffix(f.Message, ".")
		if more > 0 {
			text += fmt.Sprintf(" (and %d more)", more)
		}
	}
	return OneLine(text)
}

// maxNamed is how many repositories a note names.
const maxNamed = 5

// providerItem is a provider as --output json lists it.
type ProviderItem struct {
	Provider   string `json:"provider"`
	Repository string `json:"repository,omitempty"`
	// Latest is the newest version, where that was said.
	Latest string `json:"latest,omitempty"`
}

// listProviders prints providers, sorted by address.
func (o *Report) ListProviders(t template.Template, l catalog.Listing) error {
	items := []ProviderItem{}
	for _, e := range l.Entries {
		items = append(items, ProviderItem{Provider: e.Address.String(), Repository: e.Reference.String()})
	}
	unknown := o.Unknown(l)
	if len(items) == 0 {
		o.Note("there is no provider in the repositories of %s", t.Redacted())
	}
	return o.PrintProviders(items, unknown)
}

// unknown tells of the repositories that do not say whose they are.
func (o *Report) Unknown(l catalog.Listing) []string {
	unknown := []string{}
	for _, ref := range l.Unknown {
		unknown = append(unknown, ref.String())
	}
	if len(unknown) > 0 {
		o.Note("not listed, since nothing in them says whose they are: %s", someOf(unknown))
	}
	return unknown
}

// someOf names some of many.
func someOf(names []string) string {
	if left := len(names) - maxNamed; left > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:maxNamed], ", "), left)
	}
	return strings.Join(names, ", ")
}

// providerList are the providers that there are.
type providerList struct {
	Providers []ProviderItem `json:"providers"`
	// Unknown are repositories that do not say whose they are.
	Unknown []string `json:"unknown,omitempty"`
}

func (o *Report) PrintProviders(items []ProviderItem, unknown []string) error {
	if o.json {
		return o.PrintDocument(documentProviders, providerList{items, unknown})
	}
	for _, p := range items {
		if _, err := fmt.Fprintln(o.stdout, Printable(p.Provider)); err != nil {
			return err
		}
	}
	return nil
}
