package report

import (
	"fmt"

	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// SignatureItem is a verdict as --output json shows it.
type SignatureItem struct {
	Verdict     string `json:"verdict"`
	Fingerprint string `json:"fingerprint,omitempty"`
	// Expired is when the key or the signature did, a day.
	Expired string `json:"expired,omitempty"`
	Reason  string `json:"reason,omitempty"`
	// Warning says what is wrong with it, though it was let pass.
	Warning string `json:"warning,omitempty"`
	// Refused says why it would not be let pass, in lists.
	Refused string `json:"refused,omitempty"`
}

// describeVerdict returns nil when nobody has judged.
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

// verdict shows what was judged of a release, and warns where it says so.
func (o *Report) verdict(a provider.Address, version string, v provider.Verdict) (line string) {
	if v.Trust == "" {
		return ""
	}
	if advice := ""; v.Warning != "" {
		if v.Trust == provider.TrustUnknown {
			advice = ": give it with --keyring FILE"
		}
		o.Warn("%s %s: %s: %s%s", a, version, v, v.Warning, advice)
	}
	return "  " + OneLine(v.String()) + "\n"
}

// Judged reports a verdict, in words of its own or others.
func (o *Report) Judged(a provider.Address, v provider.Version, verdict provider.Verdict, said string) {
	i := Item{Provider: a.String(), Version: v.String(), Status: statusChecked, Signature: describeVerdict(verdict)}
	o.verdict(a, i.Version, verdict) // which warns
	o.done(i, fmt.Sprintf("%s %s %s\n", a, v, OneLine(said)))
}
