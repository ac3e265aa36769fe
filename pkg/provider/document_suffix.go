package provider

import "strings"

// documentSuffixes maps file name suffixes to kinds of documents. gpg, goreleaser,
// cosign, CycloneDX, and OpenTofu's RFC for OCI registries use these suffixes.
var documentSuffixes = map[string]DocumentKind{
	".sig": KindSignature, ".gpg": KindSignature, ".asc": KindSignature,
	".spdx.json": KindSBOM, ".cdx.json": KindSBOM, ".sbom.json": KindSBOM,
	".intoto.jsonl":  KindProvenance,
	".sigstore.json": KindSigstore, ".bundle": KindSigstore,
}

// CutDocumentSuffix returns a file name without the suffix of a signature, an SBOM, a
// provenance document, or a Sigstore bundle. It also returns the kind that the suffix
// indicates. If the name has no such suffix, it returns the name and an empty kind.
func CutDocumentSuffix(name string) (stem string, kind DocumentKind) {
	for suffix, kind := range documentSuffixes {
		if stem, found := strings.CutSuffix(name, suffix); found {
			return stem, kind
		}
	}
	return name, ""
}
