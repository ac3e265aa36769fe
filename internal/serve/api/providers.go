package api

import "time"

// Providers is a page of a server's providers. The request is GET /api/v1/providers.
type Providers struct {
	// Providers are sorted by host, namespace, and type.
	Providers []ProviderRef `json:"providers"`
	// Total is the number of providers on all pages.
	Total int `json:"total"`
	// Next is the URL of the next page. It is empty on the last page.
	Next string `json:"next,omitempty"`
	// Warnings describes the repositories that could not be listed, for example because
	// a registry has no catalog.
	Warnings []string `json:"warnings,omitempty"`
}

// ProviderRef identifies a provider.
type ProviderRef struct {
	// Address is host/namespace/type in display form.
	Address   string `json:"address"`
	Host      string `json:"host"`
	Namespace string `json:"namespace"`
	Type      string `json:"type"`
	// Repository is the repository that contains the provider's releases. It is empty
	// if unknown.
	Repository string `json:"repository,omitempty"`
	// Latest is the newest release. It is empty if determining it would require a
	// request.
	Latest string `json:"latest,omitempty"`
	// URL is the URL of the provider's details.
	URL string `json:"url,omitempty"`
}

// Provider is a provider with a page of its versions, newest first. The request is GET
// /api/v1/providers/HOST/NAMESPACE/TYPE.
type Provider struct {
	ProviderRef
	Versions []VersionRef `json:"versions"`
	// Total is the number of versions on all pages.
	Total int `json:"total"`
	// Pending contains the pending releases if the caller is allowed to see them.
	Pending []VersionRef `json:"pending,omitempty"`
	// MorePending is the number of additional pending releases.
	MorePending int `json:"more_pending,omitempty"`
	// Denied contains the newest denied versions if the caller is allowed to see them.
	Denied []VersionRef `json:"denied,omitempty"`
	// MoreDenied is the number of additional denied versions.
	MoreDenied int `json:"more_denied,omitempty"`
	// Next is the URL of the next page. It is empty on the last page.
	Next string `json:"next,omitempty"`
	// Installation is a provider_installation block that installs the provider from
	// this server. It belongs in the CLI configuration.
	Installation string `json:"installation,omitempty"`
	// Stale reports whether the data is outdated because the repository is unreachable.
	Stale bool `json:"stale,omitempty"`
}

// Statuses of a version.
const (
	// StatusComplete is the status of a release without missing content.
	StatusComplete = "complete"
	// StatusIncomplete is the status of a release with missing content.
	StatusIncomplete = "incomplete"
	// StatusBroken is the status of a tag that doesn't point to a readable release.
	StatusBroken = "broken"
	// StatusUnknown is the status of a release whose repository did not respond in time.
	StatusUnknown = "unknown"
	// StatusPending is the status of a release that is pending approval.
	StatusPending = "pending"
	// StatusDenied is the status of a denied version.
	StatusDenied = "denied"
)

// VersionRef is a version of a provider in a list.
type VersionRef struct {
	Version string `json:"version"`
	Tag     string `json:"tag"`
	// Published is the publication date according to the origin registry.
	Published *time.Time `json:"published,omitempty"`
	// Platforms contains the sorted platforms in the format OS_ARCH.
	Platforms []string `json:"platforms"`
	// Size is the archives' total size.
	Size int64 `json:"size,omitempty"`
	// Status is one of the Status constants. Problem explains why the release is not
	// complete.
	Status  string `json:"status"`
	Problem string `json:"problem,omitempty"`
	// Signed reports whether the release contains a signature. [Version.Signature]
	// contains the result of verifying it.
	Signed *bool `json:"signed,omitempty"`
	// URL is the URL of the version's details.
	URL string `json:"url,omitempty"`
}
