// Package doctor explains how OpenTofu and tofu-oci find a provider. It diagnoses
// problems in the CLI configuration ([CheckConfig]), in an OCI registry ([Examine]),
// and in a lock file ([CheckLock]). It never receives secrets. Only [RunProbe] writes.
// To find out what a registry supports, it pushes an artifact and deletes the artifact
// again.
//
// Use it to report why a provider can't be installed and how to fix the problem.
package doctor

import (
	"slices"

	"github.com/tofu-oci/tofu-oci/internal/finding"
)

// Report describes a provider. If the examination stops early, some fields are empty.
type Report struct {
	// Source and Platform are empty if no provider was specified.
	Source   string   `json:"source,omitempty"`
	Files    []File   `json:"files"`
	Methods  []Method `json:"methods"`
	Platform string   `json:"platform,omitempty"`
	// Template is the examined template if no provider was specified. In this case,
	// Registry is the registry of all its repositories.
	Template string `json:"template,omitempty"`
	Registry string `json:"registry,omitempty"`
	// Repository is the repository from the template or from the first matching
	// oci_mirror.
	Repository string `json:"repository,omitempty"`
	Version    string `json:"version,omitempty"`
	Tag        string `json:"tag,omitempty"`
	// Digest is the digest of the index, and Zip is the digest of the package.
	Digest string `json:"digest,omitempty"`
	Zip    string `json:"zip,omitempty"`
	Login  *Login `json:"credentials,omitempty"`
	// Response describes the registry's response, for example the number of tags or an
	// error.
	Response string `json:"response,omitempty"`
	// Push is the result of the check for push access. It is empty if the check was not
	// requested.
	Push string `json:"push,omitempty"`
	// Probe contains the results of [RunProbe]. It is nil if the probe was not requested.
	Probe *Probe `json:"probe,omitempty"`
	// Referrers reports whether the registry supports the referrers API. It is nil if
	// unknown.
	Referrers *bool             `json:"referrers_api,omitempty"`
	Findings  []finding.Finding `json:"findings"`
}

// File is a possible location of the CLI configuration.
type File struct {
	Path   string `json:"path"`
	Reason string `json:"reason"`
	// Read reports whether the file is part of the configuration.
	Read bool `json:"read"`
	// Missing reports whether the file does not exist.
	Missing bool `json:"-"`
}

// Method describes an installation method, and whether OpenTofu uses it for the
// provider.
type Method struct {
	Method string `json:"method"`
	Used   bool   `json:"used"`
	Reason string `json:"reason"`
}

// Failed reports whether at least one finding is an error.
func Failed(findings []finding.Finding) bool {
	return slices.ContainsFunc(findings, func(f finding.Finding) bool { return f.Severity == finding.Error })
}
