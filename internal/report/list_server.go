package report

import (
	"cmp"

	"github.com/tofu-oci/tofu-oci/internal/serve/api"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

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

// ListServedVersions prints a server's versions of a provider, newest first.
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

// ListServed prints a release as described by a server.
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
		i.Signature = &SignatureItem{Verdict: v.State, Fingerprint: cmp.Or(v.Keys...), Warning: cmp.Or(v.Warnings...), Refused: v.Refused}
	}
	documents := func(referrer bool, all []api.Document) {
		for _, d := range all {
			i.Evidence = append(i.Evidence, EvidenceItem{Name: d.Name, Kind: d.Kind, MediaType: d.MediaType, Size: d.Size, Platform: d.Platform, Referrer: referrer})
		}
	}
	documents(false, r.Evidence)
	for _, p := range r.Packages {
		i.Packages = append(i.Packages, PackageItem{Platform: p.Platform, Filename: p.Filename, Digest: p.Digest, Size: p.Size, H1: p.H1, Problem: p.Problem})
		documents(false, p.Documents)
	}
	documents(true, r.Referrers)
	return o.printRelease(i)
}
