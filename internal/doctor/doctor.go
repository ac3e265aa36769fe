// Package doctor explains how OpenTofu and tofu-oci get at a provider, and finds
// the mistakes on the way: in the CLI configuration ([CheckConfig]), in what an
// OCI registry answers ([Examine]), and in a lock file ([Lock]). It changes
// nothing. Logins come in as what is known about them, never as secrets.
//
// Use it to tell people why a provider cannot be installed and what to do about
// it, in a program of your own or in a check of a pipeline.
package doctor

import (
	"slices"

	"github.com/tofu-oci/tofu-oci/pkg/finding"
)

// Report is what was found out about a provider. Empty fields are what the
// examination did not get to.
type Report struct {
	// Source and Platform are empty where no provider was named.
	Source   string   `json:"source,omitempty"`
	Files    []File   `json:"files"`
	Methods  []Method `json:"methods"`
	Platform string   `json:"platform,omitempty"`
	// Template is what was looked at where no provider was named, and Registry the
	// registry that it names for all of them.
	Template string `json:"template,omitempty"`
	Registry string `json:"registry,omitempty"`
	// Repository is where the template, or the first oci_mirror for the provider, leads to.
	Repository string `json:"repository,omitempty"`
	Version    string `json:"version,omitempty"`
	Tag        string `json:"tag,omitempty"`
	// Digest is that of the index under the tag, Zip that of the package.
	Digest string `json:"digest,omitempty"`
	Zip    string `json:"zip,omitempty"`
	Login  *Login `json:"credentials,omitempty"`
	// Response is the response of the registry.
	Response string `json:"response,omitempty"`
	// Push says whether something may be pushed, where that was asked.
	Push string `json:"push,omitempty"`
	// Referrers reports whether the registry has the referrers API; nil is unknown.
	Referrers *bool             `json:"referrers_api,omitempty"`
	Findings  []finding.Finding `json:"findings"`
}

// File is a place of the CLI configuration.
type File struct {
	Path   string `json:"path"`
	Reason string `json:"reason"`
	// Read tells that what it says counts.
	Read bool `json:"read"`
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
