package report

import (
	"github.com/tofu-oci/tofu-oci/internal/description"
	"github.com/tofu-oci/tofu-oci/internal/outcome"
	"github.com/tofu-oci/tofu-oci/pkg/module"
)

// runSummary is the summary of mirror, publish, pull, copy, promote, deny, and trust.
type runSummary struct {
	// Statuses maps each status to the number of items.
	Statuses map[string]int `json:"statuses"`
	// Plan is nil if the run is not a dry run.
	Plan *dryRunPlan `json:"plan,omitempty"`
	// Skipped contains the pre-releases that --all skipped.
	Skipped []skippedItem `json:"skipped_pre_releases,omitempty"`
	// Direct contains the module calls in --root modules that cannot be redirected.
	Direct []module.NonRegistryCall `json:"direct_modules,omitempty"`
}

// Item is the result for a release. docs/output.md documents the fields.
type Item struct {
	Provider   string `json:"provider"`
	Version    string `json:"version,omitempty"`
	Status     string `json:"status"`
	DryRun     bool   `json:"dry_run,omitempty"`
	Unchecked  bool   `json:"unchecked,omitempty"`
	Repository string `json:"repository,omitempty"`
	Tag        string `json:"tag,omitempty"`
	Digest     string `json:"digest,omitempty"`
	// SourceDigest is the digest of the source's index, if the target's tag keeps a
	// different index.
	SourceDigest string        `json:"source_digest,omitempty"`
	Packages     []PackageItem `json:"packages,omitempty"`
	// Documents contains the documents that are pushed with the release.
	Documents []DocumentItem `json:"documents,omitempty"`
	// Dropped contains the platforms that --force removed.
	Dropped []string `json:"dropped,omitempty"`
	// Slow reports whether writing the tag took so long that concurrent jobs might have
	// overwritten each other's changes.
	Slow bool `json:"slow,omitempty"`
	// Added contains the names of the documents that were added to existing packages.
	Added []string `json:"added,omitempty"`
	// Attached contains the names of the new referrers.
	Attached []string `json:"attached,omitempty"`
	// AnnotationsKept reports whether existing annotations were kept, although they
	// differ from the specified annotations.
	AnnotationsKept bool `json:"annotations_kept,omitempty"`
	// Unattested explains why attestations of the release are unavailable. It is empty
	// if they are available or were not requested.
	Unattested string `json:"unattested,omitempty"`
	// Published and Eligible are set for releases that are held back. Published is the
	// publication date, and Eligible is the date on which the release will be old
	// enough.
	Published string `json:"published,omitempty"`
	Eligible  string `json:"eligible,omitempty"`
	// Staged is "pending", or "released" if the release is already available under its
	// version's tag.
	Staged string `json:"staged,omitempty"`
	// Held explains why a gate keeps the release pending.
	Held string `json:"held,omitempty"`
	// Denial is set if the version is denied.
	Denial *DenialItem `json:"denial,omitempty"`
	// Approval is the approval that promote recorded.
	Approval *DecisionItem `json:"approval,omitempty"`
	// PendingTagError explains why the pending tag of a promoted or denied release was
	// not deleted.
	PendingTagError string `json:"pending_tag_error,omitempty"`
	// VersionTagError explains why a denied version's tag was not deleted. If it is
	// set, tofu init can still install the version.
	VersionTagError string `json:"version_tag_error,omitempty"`
	// RecordError explains why a denial was not added to the referrers of the index.
	RecordError string `json:"record_error,omitempty"`
	// Signature is nil if the signature was not verified.
	Signature *description.Signature `json:"signature,omitempty"`
	Error     *outcome.ErrorItem     `json:"error,omitempty"`
}

// PackageItem is a package of a release.
type PackageItem struct {
	description.Package
	// Action is "pushed", "mounted", "present", "pulled", or "kept". It is empty in
	// lists and dry runs.
	Action string `json:"action,omitempty"`
	// Warning explains why OpenTofu cannot start the package.
	Warning string `json:"warning,omitempty"`
	// Path is the path of a pulled package.
	Path string `json:"path,omitempty"`
	// DocumentFiles contains the paths of the documents that were written with the package.
	DocumentFiles []string `json:"document_files,omitempty"`
	// Skipped contains the documents that were not written because of their names.
	Skipped []string `json:"skipped,omitempty"`
	// Checksum reports whether a SHA256SUMS document lists the zip.
	Checksum *bool `json:"checksum_verified,omitempty"`
}
