package api

import (
	"github.com/tofu-oci/tofu-oci/internal/description"
	"github.com/tofu-oci/tofu-oci/internal/finding"
)

// Version contains a release's details. For a pending or denied version, it contains
// the decisions, and packages without URLs. The request is GET
// /api/v1/providers/HOST/NAMESPACE/TYPE/VERSION.
type Version struct {
	Provider ProviderRef `json:"provider"`
	VersionRef
	// Digest is the digest of the index to which the tag points.
	Digest string `json:"digest,omitempty"`
	// Protocols contains the supported plugin protocols, such as "6.0".
	Protocols []string `json:"protocols,omitempty"`
	// Packages are sorted by platform.
	Packages []Package `json:"packages"`
	// Documents contains the verification metadata for all packages: checksums,
	// signatures, and keys.
	Documents []Document `json:"documents,omitempty"`
	Assessment
	// Lock is the provider block for a dependency lock file.
	Lock string `json:"lock,omitempty"`
	// Requirement is the required_providers block that requires this version.
	Requirement string `json:"requirement,omitempty"`
	// Installation has the same content as in [Provider].
	Installation string `json:"installation,omitempty"`
	Stale        bool   `json:"stale,omitempty"`
}

// Assessment contains the results of checking a release, and the decisions about it.
type Assessment struct {
	// Referrers contains the documents that refer to the index.
	Referrers []Document `json:"referrers,omitempty"`
	// Decisions contains the recorded decisions about the release, oldest first.
	Decisions []description.Decision `json:"decisions,omitempty"`
	// Signature is nil if an error prevented the verification.
	Signature *Signature `json:"signature,omitempty"`
	// Findings contains the findings of `tofu-oci verify`. The archives themselves are
	// not read.
	Findings []finding.Finding `json:"findings"`
	// MoreFindings is the number of additional findings.
	MoreFindings int `json:"more_findings,omitempty"`
	// Unverified explains why Findings, and possibly also Signature, are missing. It is
	// empty if the release was verified.
	Unverified string `json:"unverified,omitempty"`
}

// Package is a release's archive for one platform.
type Package struct {
	description.Package
	// ZH is the hash of the archive in lock files, in addition to H1.
	ZH string `json:"zh,omitempty"`
	// URL is the archive's URL. If the server has access rules, the URL is valid for
	// about one hour, and only for this caller.
	URL string `json:"url,omitempty"`
	// Documents contains the documents that concern only this package.
	Documents []Document `json:"documents,omitempty"`
	// Problem explains why the package can't be installed. It is empty if the package
	// has no problem.
	Problem string `json:"problem,omitempty"`
}

// Document is a file about a release or package.
type Document struct {
	description.Document
	// URL is the download URL. It is empty if the version is pending.
	URL string `json:"url,omitempty"`
}

// Signature is the verdict on a release's signature.
type Signature struct {
	description.Signature
	// Text is the verdict as a sentence.
	Text string `json:"text"`
	// Signer is the user ID in the signing key, such as "Jane <jane@example.com>". The
	// owner of the key chose it.
	Signer string `json:"signer,omitempty"`
}
