package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/opencontainers/go-digest"

	"github.com/tofu-oci/tofu-oci/internal/bundle"
	"github.com/tofu-oci/tofu-oci/internal/explain"
	"github.com/tofu-oci/tofu-oci/internal/finding"
)

// BundleItem is a provider or module in a bundle. docs/output.md documents the fields.
type BundleItem struct {
	Provider string   `json:"provider"`
	Versions []string `json:"versions"`
	// Size is the total size of the blobs in bytes, and Parts contains the numbers of
	// the parts that contain the blobs.
	Size  int64 `json:"size"`
	Parts []int `json:"parts"`
}

// bundleSummary describes a bundle.
type bundleSummary struct {
	bundle.Identity
	// Parts is the number of parts, and Size is the total size of their content in bytes.
	Parts int   `json:"parts"`
	Size  int64 `json:"size"`
}

// PartWritten reports that a part of a bundle was written.
func (o *Report) PartWritten(p bundle.Part) {
	if p.Existed {
		o.Note("%s is already complete", p.File)
		return
	}
	o.Note("wrote %s (%s)", p.File, Size(p.Size))
}

// BundleInspected prints the contents of a bundle.
func (o *Report) BundleInspected(m bundle.Manifest) error {
	content := map[digest.Digest]bundle.Content{}
	summary := bundleSummary{Identity: m.Identity, Parts: m.Parts}
	for _, c := range m.Content {
		content[c.Digest] = c
		summary.Size += c.Size * int64(len(c.Parts))
	}
	var items []BundleItem
	var rows []string
	for _, r := range m.Repositories {
		i := BundleItem{Provider: r.Address, Versions: []string{}, Parts: []int{}}
		for _, t := range r.Tags {
			if v, ok := r.VersionOf(t.Name); ok {
				i.Versions = append(i.Versions, v.String())
			}
		}
		if len(i.Versions) == 0 {
			continue // the receiver already has all versions
		}
		for _, d := range r.Blobs {
			if c := content[d]; len(c.Parts) > 0 {
				i.Size += c.Size
				i.Parts = append(i.Parts, c.Parts...)
			}
		}
		slices.Sort(i.Parts)
		i.Parts = slices.Compact(i.Parts)
		items = append(items, i)
		rows = append(rows, cells(i.Provider, strings.Join(i.Versions, ", "), Size(i.Size)))
	}
	text := o.table(rows) + fmt.Sprintf("%s, %s, created by %s\n", Counted(m.Parts, "part"), Size(summary.Size), m.Tool)
	return printItems(o, "bundle", items, summary, fit(text, o.columns))
}

// BundleVerified prints the problems that were found in a bundle.
func (o *Report) BundleVerified(m bundle.Manifest, problems []error) error {
	var findings []finding.Finding
	for _, p := range problems {
		findings = append(findings, finding.New(finding.Error, "bundle-damaged", p.Error(), finding.Remedy{Hint: "transfer the part again"}))
	}
	text := ""
	if len(findings) == 0 {
		text = fmt.Sprintf("verified %s and %s\n", Counted(m.Parts, "part"), Counted(len(m.Content), "file"))
	}
	err := printFindings(o, "bundle-verify", findings, countFindings(findings), found{findings: findings}, text)
	if err == nil && len(findings) > 0 {
		return &explain.ExitError{Code: explain.ExitUnverified}
	}
	return err
}
