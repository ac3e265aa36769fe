package provider

import (
	"slices"
	"strings"
)

// sumsEnding is that of every SHA256SUMS document.
const sumsEnding = "_SHA256SUMS"

// SignatureEndings are those that gpg and goreleaser give detached signatures.
func SignatureEndings() []string { return []string{".sig", ".gpg", ".asc"} }

// SigstoreEnding is that of Sigstore bundles, as cosign and goreleaser name them.
const SigstoreEnding = ".sigstore.json"

// DocumentEndings are those of SBOMs, provenance and Sigstore bundles, as the OCI
// registries RFC of OpenTofu, goreleaser and CycloneDX name them.
func DocumentEndings() []string {
	return []string{".spdx.json", ".cdx.json", ".sbom.json", ".intoto.jsonl", SigstoreEnding}
}

// IsEvidenceName reports whether a file name is that of evidence about a provider:
// terraform-provider-TYPE, then "_" or ".", and in the end one of the forms that
// evidence has. Nobody has verified such a file, so it must not pass for anything
// else that is looked for beside it, such as a package or a configuration.
func IsEvidenceName(name string, a Address) bool {
	rest, found := strings.CutPrefix(name, filenameStart+a.Type)
	if !found || !strings.HasPrefix(rest, "_") && !strings.HasPrefix(rest, ".") || CheckFilename(name) != nil {
		return false
	}
	ends := func(ending string) bool { return strings.HasSuffix(rest, ending) }
	return ends(sumsEnding) || ends(sumsEnding+".keys.asc") || ends("_manifest.json") ||
		slices.ContainsFunc(DocumentEndings(), ends) || isSignatureName(rest)
}

// isSignatureName knows the signatures of SHA256SUMS and of zips. HashiCorp puts
// the key's ID between name and ending, as in _SHA256SUMS.72D7468F.sig.
func isSignatureName(name string) bool {
	for _, ending := range SignatureEndings() {
		signed, found := strings.CutSuffix(name, ending)
		if !found {
			continue
		}
		if at := strings.LastIndexByte(signed, '.'); at >= 0 && isKeyID(signed[at+1:]) {
			signed = signed[:at]
		}
		return strings.HasSuffix(signed, sumsEnding) || strings.HasSuffix(signed, filenameEnd)
	}
	return false
}

// isKeyID knows an OpenPGP key's ID or fingerprint: 8 to 64 hexadecimal digits.
func isKeyID(s string) bool {
	const shortest, longest = 8, 64
	return len(s) >= shortest && len(s) <= longest && strings.Trim(s, "0123456789abcdefABCDEF") == ""
}
