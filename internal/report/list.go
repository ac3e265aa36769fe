package report

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/tofu-oci/tofu-oci/internal/catalog"
	"github.com/tofu-oci/tofu-oci/internal/description"
	"github.com/tofu-oci/tofu-oci/internal/text"
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
}

// ListVersions prints versions, newest first.
func (o *Report) ListVersions(a provider.Address, versions []provider.Version) error {
	var items []versionItem
	for _, v := range versions {
		items = append(items, versionItem{Provider: a.String(), Version: v.String()})
	}
	return printItems(o, "list-versions", items, none{}, joinLines(text.Strings(versions)))
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
	Documents  []DocumentItem         `json:"documents"`
	Signature  *description.Signature `json:"signature,omitempty"`

	// verdict describes the signature in one line.
	verdict string
}

// ListRelease prints a release. If refused is not nil, it explains why pull would
// reject the release.
func (o *Report) ListRelease(r provider.Release, referrers []provider.Document, v provider.Verdict, refused *trust.RefusedError) error {
	i := releaseItem{
		Provider: r.Address.String(), Version: r.Version.String(), Repository: r.Stored.Repository, Tag: cmp.Or(r.Stored.Tag, artifact.Tag(r.Version)), Digest: r.Stored.Digest.String(),
		Published: dateText(r.Published), Protocols: r.Protocols, Documents: documentItems(r.Documents, r.Packages), Signature: description.NewSignature(v),
		verdict: v.String(), Packages: describePackages(r.Packages),
	}
	for _, document := range referrers {
		e := documentItem(document)
		e.Referrer = true
		i.Documents = append(i.Documents, e)
	}
	if refused != nil && i.Signature != nil {
		i.Signature.Refused = refused.Problem
	}
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
	lines = append(lines, i.verdict)
	if i.Signature != nil && i.Signature.Refused != "" {
		lines = append(lines, "refused: "+i.Signature.Refused)
	}
	var rows []string
	for _, p := range i.Packages {
		rows = append(rows, cells(p.Platform, p.Filename, p.size(), p.Digest, p.H1))
	}
	for _, e := range i.Documents {
		kind := "document"
		if e.Referrer {
			kind = "referrer"
		}
		rows = append(rows, cells(kind, e.Name, Size(e.Size), e.MediaType, e.Platform))
	}
	return printItems(o, "list-release", []releaseItem{i}, none{}, fit(joinLines(lines)+o.table(rows), o.columns))
}

// providerItem is an item that list prints if no PROVIDER is specified.
type providerItem struct {
	Provider   string `json:"provider"`
	Repository string `json:"repository,omitempty"`
}

// repositorySummary is the summary for lists of a template's repositories.
type repositorySummary struct {
	// Unknown contains the repositories whose provider is unknown.
	Unknown []string `json:"unknown_repositories,omitempty"`
}

// ListProviders prints providers, sorted by address.
func (o *Report) ListProviders(t template.Template, l catalog.Listing) error {
	var items []providerItem
	var names []string
	for _, e := range l.Entries {
		items = append(items, providerItem{Provider: e.Address.String(), Repository: e.Reference.String()})
		names = append(names, e.Address.String())
	}
	unknown := o.Unknown(l)
	if len(items) == 0 {
		o.Note("no providers in the repositories of %s", t.Redacted())
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
	return printItems(o, "list-modules", items, repositorySummary{o.Unknown(catalog.Listing{Unknown: unknown})}, fit(o.table(rows), o.columns))
}

// Unknown prints a note about the repositories whose provider is unknown and returns
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
