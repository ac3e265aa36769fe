package api

import (
	"github.com/tofu-oci/tofu-oci/pkg/finding"
)

// Version has the details of a release: GET /api/v1/providers/HOST/NAMESPACE/TYPE/VERSION.
type Version struct {
	Provider ProviderRef `json:"provider"`
	VersionRef
	// Digest is the digest of the index that the tag points to.
	Digest string `json:"digest,omitempty"`
	// Protocols has the supported plugin protocols, such as "6.0".
	Protocols []string `json:"protocols,omitempty"`
	// Packages are sorted by platform.
	Packages []Package `json:"packages"`
	// Evidence has the verification metadata for all packages: checksums, signatures, and
	// keys. Referrers has the documents that refer to the index.
	Evidence  []Document `json:"evidence,omitempty"`
	Referrers []Document `json:"referrers,omitempty"`
	// Verdict is the result of verifying the signature. It is nil if the signature could
	// not be verified because of an error.
	Verdict *Verdict `json:"verdict,omitempty"`
	// Findings has the findings of `tofu-oci verify`, which doesn't read the archives here.
	Findings []finding.Finding `json:"findings"`
	// MoreFindings is the number of further findings.
	MoreFindings int `json:"more_findings,omitempty"`
	// Unverified is the reason why there is neither a verdict nor findings.
	Unverified string `json:"unverified,omitempty"`
	// Lock is the provider block for a dependency lock file.
	Lock string `json:"lock,omitempty"`
	// Requirement is the required_providers block that requires this version.
	Requirement string `json:"requirement,omitempty"`
	// Installation is like Installation of [Provider].
	Installation string `json:"installation,omitempty"`
	Stale        bool   `json:"stale,omitempty"`
}

// Package is the archive of a release for one platform.
type Package struct {
	Platform string `json:"platform"`
	Filename string `json:"filename"`
	// Digest is the digest of the archive, "sha256:" and hexadecimal digits. ZH and H1 are
	// its hashes in lock files.
	Digest string `json:"digest,omitempty"`
	ZH     string `json:"zh,omitempty"`
	H1     string `json:"h1,omitempty"`
	Size   int64  `json:"size,omitempty"`
	// URL is the URL of the archive. If there are access rules, it is valid for about one
	// hour, and only for this caller.
	URL string `json:"url,omitempty"`
	// Documents has the documents about this package only.
	Documents []Document `json:"documents,omitempty"`
	// Problem describes why the package can't be installed.
	Problem string `json:"problem,omitempty"`
}

// Document is a file about a release or a package.
type Document struct {
	// Name is a file name without slashes.
	Name string `json:"name"`
	// Kind is "checksums", "signature", "keys", "sbom", "provenance", "sigstore", or
	// "other".
	Kind      string `json:"kind"`
	MediaType string `json:"media_type,omitempty"`
	Digest    string `json:"digest,omitempty"`
	Size      int64  `json:"size,omitempty"`
	// Platform is empty if the document concerns all packages.
	Platform string `json:"platform,omitempty"`
	// URL is the download URL.
	URL string `json:"url,omitempty"`
	// Components is the URL of the [SBOM], or empty if the document is not one.
	Components string `json:"components,omitempty"`
}

// Verdict is the result of verifying the signature of a release.
type Verdict struct {
	// State is a label such as "signed" or "unsigned". Text is a sentence.
	State string `json:"state"`
	Text  string `json:"text"`
	// Keys has the fingerprints of the signing keys.
	Keys     []string `json:"keys,omitempty"`
	Warnings []string `json:"warnings,omitempty"`
	// Refused is the reason why the policy rejects the release, or empty.
	Refused string `json:"refused,omitempty"`
}

// SBOM has the components in a software bill of materials: GET
// /api/v1/providers/HOST/NAMESPACE/TYPE/VERSION/components/DIGEST.
type SBOM struct {
	// Format is "SPDX" or "CycloneDX", with its version.
	Format string `json:"format"`
	// Components are sorted by name and version.
	Components []Component `json:"components"`
}

// Component is a dependency in an SBOM.
type Component struct {
	Name    string `json:"name"`
	Version string `json:"version,omitempty"`
	// License is an SPDX expression or free text.
	License string `json:"license,omitempty"`
	// PURL is a package URL: https://github.com/package-url/purl-spec.
	PURL string `json:"purl,omitempty"`
}
