package report

import (
	"fmt"
	"strings"

	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// EvidenceItem is a document of a release.
type EvidenceItem struct {
	Name      string `json:"name"`
	Kind      string `json:"kind"`
	MediaType string `json:"media_type"`
	Size      int64  `json:"size"`
	// Platform is empty if the document concerns the whole release.
	Platform string `json:"platform,omitempty"`
	// Referrer reports whether the document is a referrer of the release's index.
	Referrer bool `json:"referrer,omitempty"`
}

func evidenceItem(d provider.Document) EvidenceItem {
	return EvidenceItem{Name: d.Name, Kind: string(d.Kind), MediaType: d.MediaType, Size: d.Size}
}

// evidence returns the items for documents about a release and its packages.
func evidence(release []provider.Document, packages []provider.Package) []EvidenceItem {
	all := []EvidenceItem{}
	for _, d := range release {
		all = append(all, evidenceItem(d))
	}
	for _, p := range packages {
		for _, d := range p.Documents {
			e := evidenceItem(d)
			e.Platform = p.Platform.String()
			all = append(all, e)
		}
	}
	return all
}

// evidenceNames contains the texts for each kind of document. The texts describe a
// document about the release, one document about a package, and several such documents.
var evidenceNames = []struct {
	kind             provider.DocumentKind
	release, one, of string
}{
	{provider.KindSums, "SHA256SUMS", "checksums of a package", "checksums of packages"},
	{provider.KindSignature, "signature", "signature of a package", "signatures of packages"},
	{provider.KindKeys, "keys", "keys of a package", "keys of packages"},
	{provider.KindSBOM, "SBOM", "SBOM of a package", "SBOMs of packages"},
	{provider.KindProvenance, "provenance", "provenance of a package", "provenance of packages"},
	{provider.KindSigstore, "Sigstore bundle", "Sigstore bundle of a package", "Sigstore bundles of packages"},
	{provider.KindOther, "another document", "document about a package", "documents about packages"},
}

// describeEvidence returns a line such as "with SHA256SUMS, signature, 2 SBOMs of
// packages". Without documents, it returns an empty string.
func describeEvidence(all []EvidenceItem) string {
	var parts []string
	add := func(n int, one, more string) {
		switch {
		case n == 1:
			parts = append(parts, one)
		case n > 1:
			parts = append(parts, fmt.Sprintf("%d %s", n, more))
		}
	}
	for _, name := range evidenceNames {
		release, packages := 0, 0
		for _, e := range all {
			switch {
			case e.Kind != string(name.kind):
			case e.Platform == "":
				release++
			default:
				packages++
			}
		}
		add(release, name.release, name.release)
		add(packages, "1 "+name.one, name.of)
	}
	if len(parts) == 0 {
		return ""
	}
	return "  with " + strings.Join(parts, ", ") + "\n"
}

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
