package report

import (
	"fmt"
	"strings"

	"github.com/tofu-oci/tofu-oci/internal/description"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// DocumentItem describes a document about a release or package.
type DocumentItem struct {
	description.Document
	// Referrer reports whether the document is a referrer of the release's index.
	Referrer bool `json:"referrer,omitempty"`
}

func documentItem(d provider.Document) DocumentItem {
	return DocumentItem{Document: description.NewDocument(d)}
}

// documentItems returns the items for documents about a release and its packages.
func documentItems(release []provider.Document, packages []provider.Package) []DocumentItem {
	all := []DocumentItem{}
	for _, d := range release {
		all = append(all, documentItem(d))
	}
	for _, p := range packages {
		for _, d := range p.Documents {
			e := documentItem(d)
			e.Platform = p.Platform.String()
			all = append(all, e)
		}
	}
	return all
}

// documentLabels contains labels for each kind of document. The labels are for a
// document about the release, one document about a package, and several such documents.
var documentLabels = []struct {
	kind             provider.DocumentKind
	release, one, of string
}{
	{provider.KindSums, "SHA256SUMS", "checksums for a package", "checksums for packages"},
	{provider.KindSignature, "signature", "signature for a package", "signatures for packages"},
	{provider.KindKeys, "keys", "keys for a package", "keys for packages"},
	{provider.KindSBOM, "SBOM", "SBOM for a package", "SBOMs for packages"},
	{provider.KindProvenance, "provenance", "provenance for a package", "provenance for packages"},
	{provider.KindSigstore, "Sigstore bundle", "Sigstore bundle for a package", "Sigstore bundles for packages"},
	{provider.KindOther, "another document", "document about a package", "documents about packages"},
}

// describeDocuments returns a line such as "with SHA256SUMS, signature, 2 SBOMs for
// packages". Without documents, it returns an empty string.
func describeDocuments(all []DocumentItem) string {
	var parts []string
	add := func(n int, one, more string) {
		switch {
		case n == 1:
			parts = append(parts, one)
		case n > 1:
			parts = append(parts, fmt.Sprintf("%d %s", n, more))
		}
	}
	for _, name := range documentLabels {
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

// verdict returns the line that describes a verdict and prints the verdict's warning.
func (o *Report) verdict(a provider.Address, version string, v provider.Verdict) (line string) {
	if v.Trust == "" {
		return ""
	}
	if advice := ""; v.Warning != "" {
		switch {
		case v.Trust == provider.TrustUnknown:
			advice = "; specify it with --keyring FILE"
		case v.Trust == provider.TrustUnsigned && o.Command == "publish":
			advice = "; sign it with --sign-key FILE"
		}
		o.Warn("%s %s: %s: %s%s", a, version, v, v.Warning, advice)
	}
	return "  " + OneLine(v.String()) + "\n"
}

// SignatureChecked reports a verdict and the line that describes it.
func (o *Report) SignatureChecked(a provider.Address, v provider.Version, verdict provider.Verdict, line string) {
	i := Item{Provider: a.String(), Version: v.String(), Status: statusChecked, Signature: description.NewSignature(verdict)}
	o.verdict(a, i.Version, verdict) // prints the warning
	o.done(i, fmt.Sprintf("%s %s %s\n", a, v, OneLine(line)))
}
