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
// packages". If there are no documents, it returns an empty string.
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
