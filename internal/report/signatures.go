package report

import (
	"fmt"

	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// SignatureItem is a verdict.
type SignatureItem struct {
	Verdict     string `json:"verdict"`
	Fingerprint string `json:"fingerprint,omitempty"`
	// Expired is the date on which the key or the signature expired.
	Expired string `json:"expired,omitempty"`
	Reason  string `json:"reason,omitempty"`
	// Warning describes a problem that does not cause the policy to reject the release.
	Warning string `json:"warning,omitempty"`
	// Refused explains why pull would reject the release. It is set only in lists.
	Refused string `json:"refused,omitempty"`
}

// describeVerdict returns the item for a verdict, or nil if the signature was not
// verified.
func describeVerdict(v provider.Verdict) *SignatureItem {
	if v.Trust == "" {
		return nil
	}
	item := &SignatureItem{Verdict: string(v.Trust), Fingerprint: v.Fingerprint, Reason: v.Reason, Warning: v.Warning}
	if !v.Expired.IsZero() {
		item.Expired = v.Expired.UTC().Format("2006-01-02")
	}
	return item
}

// verdict returns a verdict's line and prints the verdict's warning.
func (o *Report) verdict(a provider.Address, version string, v provider.Verdict) (line string) {
	if v.Trust == "" {
		return ""
	}
	if advice := ""; v.Warning != "" {
		if v.Trust == provider.TrustUnknown {
			advice = "; specify it with --keyring FILE"
		}
		o.Warn("%s %s: %s: %s%s", a, version, v, v.Warning, advice)
	}
	return "  " + OneLine(v.String()) + "\n"
}

// SignatureChecked reports a verdict together with its description.
func (o *Report) SignatureChecked(a provider.Address, v provider.Version, verdict provider.Verdict, description string) {
	i := Item{Provider: a.String(), Version: v.String(), Status: statusChecked, Signature: describeVerdict(verdict)}
	o.verdict(a, i.Version, verdict) // prints the warning
	o.done(i, fmt.Sprintf("%s %s %s\n", a, v, OneLine(description)))
}
