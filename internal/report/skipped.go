package report

import (
	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// skippedItem contains a provider's pre-releases that --all skipped.
type skippedItem struct {
	Provider string `json:"provider"`
	// Versions are sorted from newest to oldest.
	Versions []string `json:"versions"`
}

// SkippedPreReleases records the pre-releases that --all skipped, newest first.
func (o *Report) SkippedPreReleases(a provider.Address, preReleases []provider.Version) {
	if len(preReleases) == 0 {
		return
	}
	i := skippedItem{Provider: a.String()}
	for _, v := range preReleases {
		i.Versions = append(i.Versions, v.String())
	}
	o.skipped = append(o.skipped, i)
}

// noteSkipped prints how many pre-releases were skipped, and explains how to select a
// pre-release.
func (o *Report) noteSkipped() {
	count := 0
	for _, i := range o.skipped {
		count += len(i.Versions)
	}
	if count > 0 {
		first := o.skipped[0]
		o.Note("%s skipped: to select one, give its exact version, such as %s@%s", Counted(count, "pre-release"), first.Provider, first.Versions[0])
	}
}
