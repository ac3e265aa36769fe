package outcome

import (
	"github.com/tofu-oci/tofu-oci/pkg/publish"
)

// SlowTag is the warning about a release whose tag took so long to write that another
// job might have overwritten it.
const SlowTag = "writing the tag took a long time; if other jobs published this version at the same time, rerun these jobs; otherwise, no action is needed"

// warnings returns the warnings about a release that was published.
func warnings(r publish.Result) (all []string) {
	if r.Unattested != nil {
		all = append(all, "attestations are unavailable: "+r.Unattested.Error())
	}
	if v := r.Verdict; v.Warning != "" {
		all = append(all, v.String()+": "+v.Warning)
	}
	if r.Slow {
		all = append(all, SlowTag)
	}
	return all
}
