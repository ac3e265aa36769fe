package outcome

import (
	"time"

	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/publish"
)

// SignatureItem describes the verdict on a signature.
type SignatureItem struct {
	Verdict     string `json:"verdict"`
	Fingerprint string `json:"fingerprint,omitempty"`
	// Expired is the date on which the key or the signature expired.
	Expired string `json:"expired,omitempty"`
	Reason  string `json:"reason,omitempty"`
	// Warning describes a problem that the policy tolerates.
	Warning string `json:"warning,omitempty"`
	// Refused explains why pull would reject the release. It is set only by list.
	Refused string `json:"refused,omitempty"`
}

// DescribeVerdict returns the item for a verdict, or nil if the signature was not
// verified.
func DescribeVerdict(v provider.Verdict) *SignatureItem {
	if v.Trust == "" {
		return nil
	}
	item := &SignatureItem{Verdict: string(v.Trust), Fingerprint: v.Fingerprint, Reason: v.Reason, Warning: v.Warning}
	if !v.Expired.IsZero() {
		item.Expired = v.Expired.UTC().Format(time.DateOnly)
	}
	return item
}

// String returns the same text as [provider.Verdict.String], or an empty string if the
// item is nil.
func (i *SignatureItem) String() string {
	if i == nil {
		return ""
	}
	expired, _ := time.Parse(time.DateOnly, i.Expired)
	return provider.Verdict{Trust: provider.Trust(i.Verdict), Fingerprint: i.Fingerprint, Expired: expired}.String()
}

// SlowTag is the warning about a release whose tag was not written quickly enough to
// exclude that another job overwrote it.
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
