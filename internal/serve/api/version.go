package api

import (
	"time"

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
	Decisions []Decision `json:"decisions,omitempty"`
	// Verdict is the result of verifying the signature. If an error prevented the
	// verification, Verdict is nil.
	Verdict *Verdict `json:"verdict,omitempty"`
	// Findings contains the findings of `tofu-oci verify`. The archives themselves are
	// not read.
	Findings []finding.Finding `json:"findings"`
	// MoreFindings is the number of additional findings.
	MoreFindings int `json:"more_findings,omitempty"`
	// Unverified explains why Findings, and possibly also Verdict, are missing. It is
	// empty if the release was verified.
	Unverified string `json:"unverified,omitempty"`
}

// Decision is a recorded decision about a release.
type Decision struct {
	// Kind is "promote", "deny", "force", or "gate". Verdict is "allow", "deny", or
	// "hold".
	Kind    string `json:"kind"`
	Verdict string `json:"verdict"`
	// Gate identifies the gate that decided. It is empty for other kinds.
	Gate   string    `json:"gate,omitempty"`
	Reason string    `json:"reason,omitempty"`
	By     string    `json:"by,omitempty"`
	Time   time.Time `json:"time"`
	// Key is the fingerprint of the key that signed the decision. It isn't necessarily
	// trusted.
	Key string `json:"key,omitempty"`
	// Foreign reports whether the decision is about a different release or repository.
	// If so, it has no effect.
	Foreign bool `json:"foreign,omitempty"`
}

// Package is a release's archive for one platform.
type Package struct {
	Platform string `json:"platform"`
	Filename string `json:"filename"`
	// Digest is the archive's digest, which consists of "sha256:" and hexadecimal
	// digits. ZH and H1 are its hashes in lock files. H1Unpacked is the hash of the
	// unpacked directory if it differs from H1.
	Digest string `json:"digest,omitempty"`
	ZH     string `json:"zh,omitempty"`
	H1     string `json:"h1,omitempty"`

	H1Unpacked string `json:"h1_unpacked,omitempty"`

	Size int64 `json:"size,omitempty"`
	// URL is the archive's URL. If the server has access rules, the URL is valid for
	// about one hour, and only for this caller.
	URL string `json:"url,omitempty"`
	// Documents contains the documents that concern only this package.
	Documents []Document `json:"documents,omitempty"`
	// Problem explains why the package can't be installed. It is empty if the package
	// has no problem.
	Problem string `json:"problem,omitempty"`
}

// Document is a file that describes a release or package.
type Document struct {
	// Name is a file name. It contains no slashes.
	Name string `json:"name"`
	// Kind is "checksums", "signature", "keys", "sbom", "provenance", "sigstore", or
	// "other".
	Kind      string `json:"kind"`
	MediaType string `json:"media_type,omitempty"`
	Digest    string `json:"digest,omitempty"`
	Size      int64  `json:"size,omitempty"`
	// Platform is empty if the document concerns all packages.
	Platform string `json:"platform,omitempty"`
	// URL is the download URL. It is empty if the version is pending.
	URL string `json:"url,omitempty"`
}

// Verdict is the result of verifying a release's signature.
type Verdict struct {
	// State is a label such as "signed" or "unsigned". Text is a sentence.
	State string `json:"state"`
	Text  string `json:"text"`
	// Signer is the user ID in the signing key, such as "Jane <jane@example.com>". The
	// owner of the key chose it.
	Signer string `json:"signer,omitempty"`
	// Keys contains the fingerprints of the signing keys.
	Keys     []string `json:"keys,omitempty"`
	Warnings []string `json:"warnings,omitempty"`
	// Refused explains why the policy rejects the release. It is empty if the policy
	// accepts the release.
	Refused string `json:"refused,omitempty"`
}
