package report

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/tofu-oci/tofu-oci/internal/catalog"
	"github.com/tofu-oci/tofu-oci/internal/explain"
	"github.com/tofu-oci/tofu-oci/pkg/artifact"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/template"
	"github.com/tofu-oci/tofu-oci/pkg/trust"
	"github.com/tofu-oci/tofu-oci/pkg/verify"
)

// maxNamed is how many repositories a note names.
const maxNamed = 5

// versionList are the versions that there are, newest first.
type versionList struct {
	Provider string   `json:"provider"`
	Versions []string `json:"versions"`
	// Checked says of each how much of it is there, with --check-level.
	Checked []checkedVersion `json:"checked,omitempty"`
}

// checkedVersion says how much of a version is there.
type checkedVersion struct {
	Version string `json:"version"`
	Tag     string `json:"tag"`
	Status  string `json:"status"`
	// Findings say why it is not complete, and what repairs it.
	Findings []releaseFinding `json:"findings,omitempty"`
	// Error is why that is not known.
	Error *ErrorItem `json:"error,omitempty"`
}

// ListVersions prints versions, newest first.
func (o *Report) ListVersions(a provider.Address, versions []provider.Version) error {
	list := versionList{Provider: a.String(), Versions: []string{}}
	for _, v := range versions {
		list.Versions = append(list.Versions, v.String())
	}
	return o.Print("versions", list, oneEach(list.Versions))
}

// ListStandings prints versions, and what is wrong with them.
func (o *Report) ListStandings(a provider.Address, found []verify.Standing) error {
	list := versionList{Provider: a.String(), Versions: []string{}, Checked: []checkedVersion{}}
	var text strings.Builder
	var failed []error
	unsound := false
	for _, s := range found {
		v := checkedVersion{Version: s.Version.String(), Tag: artifact.Tag(s.Version), Status: string(s.Status), Findings: describeFindings(s.Findings)}
		if s.Err != nil {
			v.Error = describeError(s.Err)
			failed = append(failed, s.Err)
		}
		list.Versions, list.Checked = append(list.Versions, v.Version), append(list.Checked, v)
		text.WriteString(v.line() + "\n")
		if len(v.Findings) > 0 {
			unsound = true
			text.WriteString(indented(v.Findings[0].Remedy))
		}
	}
	o.EndProgress()
	if err := o.Print("versions", list, text.String()); err != nil {
		return err
	}
	if unsound {
		return &explain.ExitError{Code: explain.ExitUnverified}
	}
	return explain.Items(len(found)-len(failed), failed)
}

// line is for people. The first finding is shown, and how many more there are.
func (v checkedVersion) line() string {
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

// ListRelease prints what a version holds. Refused is why its signature would not
// do, nil when it does.
func (o *Report) ListRelease(r provider.Release, referrers []provider.Document, approvals []artifact.Approval, v provider.Verdict, refused *trust.RefusedError) error {
	d := releaseDescription{
		Provider: r.Address.String(), Version: r.Version.String(), Repository: r.Stored.Repository, Tag: cmp.Or(r.Stored.Tag, artifact.Tag(r.Version)), Digest: r.Stored.Digest.String(),
		Published: dateText(r.Published), Protocols: r.Protocols, Evidence: evidence(r.Documents, r.Packages), Signature: describeVerdict(v),
	}
	for _, p := range r.Packages {
		d.Packages = append(d.Packages, describe(p, ""))
	}
	for _, document := range referrers {
		e := evidenceItem(document)
		e.Referrer = true
		d.Evidence = append(d.Evidence, e)
	}
	for _, a := range approvals {
		d.Approvals = append(d.Approvals, *describeApproval(&a))
	}
	lines := []string{d.Provider + " " + d.Version}
	if d.Published != "" {
		lines = append(lines, "published "+d.Published)
	}
	if _, waits := artifact.ParsePending(d.Tag); waits {
		lines = append(lines, "waits for approval under the tag "+d.Tag)
	}
	if len(r.Protocols) > 0 {
		lines = append(lines, "protocols "+strings.Join(r.Protocols, ", "))
	}
	lines = append(lines, v.String())
	if refused != nil {
		lines = append(lines, "refused: "+refused.Problem)
		if d.Signature != nil {
			d.Signature.Refused = refused.Problem
		}
	}
	for _, a := range approvals {
		lines = append(lines, "approved: "+a.String())
	}
	var rows []string
	for _, p := range d.Packages {
		rows = append(rows, cells(p.Platform, p.Filename, p.size(), p.Digest, p.H1))
	}
	for _, e := range d.Evidence {
		kind := "evidence"
		if e.Referrer {
			kind = "referrer"
		}
		rows = append(rows, cells(kind, e.Name, Size(e.Size), e.MediaType, e.Platform))
	}
	return o.Print("release", d, oneEach(lines)+table(rows))
}

// ProviderItem is a provider as --output json lists it.
type ProviderItem struct {
	Provider   string `json:"provider"`
	Repository string `json:"repository,omitempty"`
	// Latest is the newest version, where that was said.
	Latest string `json:"latest,omitempty"`
}

// providerList are the providers that there are.
type providerList struct {
	Providers []ProviderItem `json:"providers"`
	// Unknown are repositories that do not say whose they are.
	Unknown []string `json:"unknown,omitempty"`
}

// ListProviders prints providers, sorted by address.
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

// PrintProviders prints providers in the given order.
func (o *Report) PrintProviders(items []ProviderItem, unknown []string) error {
	var names []string
	for _, i := range items {
		names = append(names, i.Provider)
	}
	return o.Print("providers", providerList{items, unknown}, oneEach(names))
}

// Unknown notes the repositories that do not say whose they are.
func (o *Report) Unknown(l catalog.Listing) []string {
	unknown := []string{}
	for _, ref := range l.Unknown {
		unknown = append(unknown, ref.String())
	}
	if len(unknown) > 0 {
		some := strings.Join(unknown[:min(len(unknown), maxNamed)], ", ")
		if more := len(unknown) - maxNamed; more > 0 {
			some += fmt.Sprintf(" and %d more", more)
		}
		o.Note("not listed, since nothing in them says whose they are: %s", some)
	}
	return unknown
}
