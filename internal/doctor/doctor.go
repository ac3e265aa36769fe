// Package doctor explains how OpenTofu and tofu-oci find a provider, and diagnoses problems
// in the CLI configuration ([CheckConfig]), in an OCI registry ([Examine]), and in a lock
// file ([CheckLock]). It changes nothing, and never receives secrets.
//
// Use it to report why a provider can't be installed, and how to fix it.
package doctor

import (
	"slices"

	"github.com/tofu-oci/tofu-oci/pkg/finding"
)

// Report describes a provider. Fields are empty if the examination stopped
// before determining them.
type Report struct {
	// Source and Platform are empty if no provider was specified.
	Source   string   `json:"source,omitempty"`
	Files    []File   `json:"files"`
	Methods  []Method `json:"methods"`
	Platform string   `json:"platform,omitempty"`
	// Template is the template to examine if no provider was specified. Registry is then
	// the registry of all its repositories.
	Template string `json:"template,omitempty"`
	Registry string `json:"registry,omitempty"`
	// Repository is the repository of the template or of the first matching oci_mirror.
	Repository string `json:"repository,omitempty"`
	Version    string `json:"version,omitempty"`
	Tag        string `json:"tag,omitempty"`
	// Digest is the digest of the index, and Zip is the digest of the package.
	Digest string `json:"digest,omitempty"`
	Zip    string `json:"zip,omitempty"`
	Login  *Login `json:"credentials,omitempty"`
	// Response is the registry's response.
	Response string `json:"response,omitempty"`
	// Push is the result of the check for push access, or empty if it was not requested.
	Push string `json:"push,omitempty"`
	// Referrers reports whether the registry supports the referrers API. It is nil if
	// unknown.
	Referrers *bool             `json:"referrers_api,omitempty"`
	Findings  []finding.Finding `json:"findings"`
}

// File is a location of the CLI configuration.
type File struct {
	Path   string `json:"path"`
	Reason string `json:"reason"`
	// Read reports that the file is part of the configuration.
	Read bool `json:"read"`
	// Missing reports that the file does not exist.
	Missing bool `json:"-"`
}

// Method is an installation method, and whether OpenTofu uses it for the provider.
type Method struct {
	Method string `json:"method"`
	Used   bool   `json:"used"`
	Reason string `json:"reason"`
}

// Failed reports whether a finding is an error.
func Failed(findings []finding.Finding) bool {
	return slices.ContainsFunc(findings, func(f finding.Finding) bool { return f.Severity == finding.Error })
}
