package api

import (
	"github.com/tofu-oci/tofu-oci/pkg/finding"
)

// Version is all that is known of a release:
// GET /api/v1/providers/HOST/NAMESPACE/TYPE/VERSION.
type Version struct {
	Provider ProviderRef `json:"provider"`
	VersionRef
	// Digest is that of the index that the tag names.
	Digest string `json:"digest,omitempty"`
	// Protocols are those of plugins that it speaks, such as "6.0".
	Protocols []string `json:"protocols,omitempty"`
	// Packages are sorted by platform.
	Packages []Package `json:"packages"`
	// Evidence is what lies with the packages and is about all of them: checksums,
	// signatures, keys. Referrers are documents that refer to the index.
	Evidence  []Document `json:"evidence,omitempty"`
	Referrers []Document `json:"referrers,omitempty"`
	// Verdict is what the signature proves; nil where it could not be judged.
	Verdict *Verdict `json:"verdict,omitempty"`
	// Findings are what `tofu-oci verify` says without reading archives.
	Findings []finding.Finding `json:"findings"`
	// MoreFindings counts those that are left out of Findings.
	MoreFindings int `json:"more_findings,omitempty"`
	// Unverified says why there is neither verdict nor finding: it was not looked at.
	Unverified string `json:"unverified,omitempty"`
	// Lock is the provider's block of a dependency lock file.
	Lock string `json:"lock,omitempty"`
	// Requirement is the required_providers block that asks for this version.
	Requirement string `json:"requirement,omitempty"`
	// Installation is as that of [Provider].
	Installation string `json:"installation,omitempty"`
	Stale        bool   `json:"stale,omitempty"`
}

// Package is the archive of a release for one platform.
type Package struct {
	Platform string `json:"platform"`
	Filename string `json:"filename"`
	// Digest is the archive's, "sha256:" and hex; ZH and H1 are the hashes of lock files.
	Digest string `json:"digest,omitempty"`
	ZH     string `json:"zh,omitempty"`
	H1     string `json:"h1,omitempty"`
	Size   int64  `json:"size,omitempty"`
	// URL is where the archive is downloaded. Where not everybody may read, it is good
	// for this caller and about an hour.
	URL string `json:"url,omitempty"`
	// Documents are about this package alone.
	Documents []Document `json:"documents,omitempty"`
	// Problem says why it cannot be installed.
	Problem string `json:"problem,omitempty"`
}

// Document is a file about a release or a package.
type Document struct {
	// Name is a file name; it has no slash.
	Name string `json:"name"`
	// Kind is "checksums", "signature", "keys", "sbom", "provenance", "sigstore" or "other".
	Kind      string `json:"kind"`
	MediaType string `json:"media_type,omitempty"`
	Digest    string `json:"digest,omitempty"`
	Size      int64  `json:"size,omitempty"`
	// Platform is empty for what is about all packages.
	Platform string `json:"platform,omitempty"`
	// URL is where it is downloaded.
	URL string `json:"url,omitempty"`
	// Components is the URL of its [SBOM]; empty for what is none.
	Components string `json:"components,omitempty"`
}

// Verdict is what a release's signature proves.
type Verdict struct {
	// State is a word, such as "signed" or "unsigned"; Text says it in a sentence.
	State string `json:"state"`
	Text  string `json:"text"`
	// Keys are the fingerprints of who signed.
	Keys     []string `json:"keys,omitempty"`
	Warnings []string `json:"warnings,omitempty"`
	// Refused is why a policy refuses it; empty when none does.
	Refused string `json:"refused,omitempty"`
}

// SBOM is the components that a software bill of materials lists:
// GET /api/v1/providers/HOST/NAMESPACE/TYPE/VERSION/components/DIGEST.
type SBOM struct {
	// Format is "SPDX" or "CycloneDX", with its version.
	Format string `json:"format"`
	// Components are sorted by name and version.
	Components []Component `json:"components"`
}

// Component is a part of a program.
type Component struct {
	Name    string `json:"name"`
	Version string `json:"version,omitempty"`
	// License is an SPDX expression, or what the author wrote.
	License string `json:"license,omitempty"`
	// PURL is a package URL: https://github.com/package-url/purl-spec.
	PURL string `json:"purl,omitempty"`
}
