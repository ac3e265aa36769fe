package api

import "time"

// Providers is a page of the providers that a server has: GET /api/v1/providers.
type Providers struct {
	// Providers are sorted by host, namespace and type.
	Providers []ProviderRef `json:"providers"`
	// Total is how many there are on all pages.
	Total int `json:"total"`
	// Next is the URL of the next page; empty for the last one.
	Next string `json:"next,omitempty"`
	// Warnings say what could not be listed, such as a registry without a catalog.
	Warnings []string `json:"warnings,omitempty"`
}

// ProviderRef names a provider.
type ProviderRef struct {
	// Address is host/namespace/type, as people read it.
	Address   string `json:"address"`
	Host      string `json:"host"`
	Namespace string `json:"namespace"`
	Type      string `json:"type"`
	// Repository is where its releases lie. It is left out for callers who see the
	// server only.
	Repository string `json:"repository,omitempty"`
	// Latest is its newest release, where that is known without asking.
	Latest string `json:"latest,omitempty"`
	// URL is where more is said of it.
	URL string `json:"url,omitempty"`
}

// Provider is a provider with a page of its versions, newest first:
// GET /api/v1/providers/HOST/NAMESPACE/TYPE.
type Provider struct {
	ProviderRef
	Versions []VersionRef `json:"versions"`
	// Total is how many versions there are on all pages.
	Total int `json:"total"`
	// Pending are releases that wait for approval, for callers who may see them.
	Pending []VersionRef `json:"pending,omitempty"`
	// MorePending counts those that are left out of Pending.
	MorePending int `json:"more_pending,omitempty"`
	// Next is the URL of the next page; empty for the last one.
	Next string `json:"next,omitempty"`
	// Installation is the provider_installation block of a CLI configuration that
	// installs the provider from this server.
	Installation string `json:"installation,omitempty"`
	// Stale says that the repository could not be asked, and this is older.
	Stale bool `json:"stale,omitempty"`
}

// The statuses of a version.
const (
	// StatusComplete is a release of which all that was looked at is there.
	StatusComplete = "complete"
	// StatusIncomplete is a release of which some packages cannot be installed.
	StatusIncomplete = "incomplete"
	// StatusBroken is a tag that names no release that can be read.
	StatusBroken = "broken"
	// StatusUnknown is a release whose repository did not answer in time.
	StatusUnknown = "unknown"
	// StatusPending is a release that waits for approval.
	StatusPending = "pending"
)

// VersionRef is a version of a provider, as lists have it.
type VersionRef struct {
	Version string `json:"version"`
	Tag     string `json:"tag"`
	// Published is the origin's own date.
	Published *time.Time `json:"published,omitempty"`
	// Platforms are OS_ARCH, sorted.
	Platforms []string `json:"platforms"`
	// Size is that of all archives together.
	Size int64 `json:"size,omitempty"`
	// Status is one of the Status constants; Problem says why it is not complete.
	Status  string `json:"status"`
	Problem string `json:"problem,omitempty"`
	// Signed reports whether a signature of the checksums lies with the release. What it
	// proves is said by [Version.Verdict].
	Signed *bool `json:"signed,omitempty"`
	// URL is where more is said of it.
	URL string `json:"url,omitempty"`
}
