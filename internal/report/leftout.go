package report

import (
	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// LeftOutItem are versions that --all does not mean.
type LeftOutItem struct {
	Provider string `json:"provider"`
	// PreReleases are newest first; each is taken when it is named exactly.
	PreReleases []string `json:"pre_releases"`
}

// LeaveOut keeps what was left out, to say so at the end.
func (o *Report) LeaveOut(a provider.Address, preReleases []provider.Version) {
	if len(preReleases) == 0 {
		return
	}
	i := LeftOutItem{Provider: a.String()}
	for _, v := range preReleases {
		i.PreReleases = append(i.PreReleases, v.String())
	}
	o.leftOut = append(o.leftOut, i)
}

// sayLeftOut says how many pre-releases were left out, and how to take one.
func (o *Report) sayLeftOut() {
	count := 0
	for _, i := range o.leftOut {
		count += len(i.PreReleases)
	}
	if count > 0 {
		first := o.leftOut[0]
		o.Note("%s left out: name one to take it, such as %s@%s", Counted(count, "pre-release"), first.Provider, first.PreReleases[0])
	}
}
