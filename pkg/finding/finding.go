// Package finding describes problems that tofu-oci finds in repositories, lock files,
// and configurations.
package finding

import (
	"strings"
)

// Severity is how bad a finding is.
type Severity string

const (
	// Error means that OpenTofu or tofu-oci fails, or will fail.
	Error Severity = "error"
	// Warning means that it may fail, or not do what seems to be intended.
	Warning Severity = "warning"
	// Note is useful to know.
	Note Severity = "note"
)

// Finding is a problem and its remedy.
type Finding struct {
	Severity Severity `json:"severity"`
	// Code identifies the kind of finding, in kebab case. It is stable.
	Code string `json:"code"`
	// Message is one sentence.
	Message string `json:"problem"`
	// Remedy is the text to write or the command to run. It may have several lines.
	Remedy string `json:"remedy"`
	// Subject is what the finding is about. JSON documents place its fields themselves.
	Subject Subject `json:"-"`
}

// Subject is what a finding is about. Empty fields do not apply.
type Subject struct {
	// File is the path of a lock file, and Line the line in it.
	File string
	Line int
	// Provider is an address.
	Provider string
	// Version is empty if the finding is about a whole repository.
	Version string
	// Platform is empty if the finding is about a whole release.
	Platform string
}

// New returns a finding without a subject.
func New(severity Severity, code, message, remedy string) Finding {
	return Finding{Severity: severity, Code: code, Message: message, Remedy: remedy}
}

// IsMissing reports whether the finding is about something that is missing, in contrast
// to something that is wrong.
func (f Finding) IsMissing() bool { return strings.HasSuffix(f.Code, "-missing") }

// Rule documents a kind of finding.
type Rule struct {
	Code string
	// Means is a sentence about all findings with this code.
	Means string
}
