// Package finding describes problems that tofu-oci finds in repositories, lock files,
// and configurations.
package finding

import (
	"strings"
)

// Severity classifies a finding by its effect.
type Severity string

const (
	// Error means that OpenTofu or tofu-oci fails, or will fail.
	Error Severity = "error"
	// Warning means that OpenTofu or tofu-oci might fail or might behave differently
	// than the user intended.
	Warning Severity = "warning"
	// Note is information that requires no action.
	Note Severity = "note"
)

// Finding is a problem and its remedy. Its JSON form is a flat object.
type Finding struct {
	Subject
	Severity Severity `json:"severity"`
	// Code identifies the kind of finding, in kebab case. It is stable.
	Code string `json:"code"`
	// Message is one sentence.
	Message string `json:"message"`
	Remedy
}

// Subject identifies the file, provider, or release that a finding is about. Fields
// that don't apply are empty.
type Subject struct {
	// File is the path of a lock file. Line is a line number in this file.
	File string `json:"file,omitempty"`
	Line int    `json:"line,omitempty"`
	// Provider is the provider's address.
	Provider string `json:"provider,omitempty"`
	// Version is empty if the finding is about an entire repository.
	Version string `json:"version,omitempty"`
	// Platform is empty if the finding is about an entire release.
	Platform string `json:"platform,omitempty"`
}

// Remedy describes how to fix a problem. If it has both a hint and a command, the hint
// explains when or how to run the command.
type Remedy struct {
	// Hint is prose. It can end with a colon, followed by lines to write into a file.
	Hint string `json:"hint,omitempty"`
	// Command contains one or more shell command lines.
	Command string `json:"command,omitempty"`
}

// New returns a finding without a subject.
func New(severity Severity, code, message string, remedy Remedy) Finding {
	return Finding{Severity: severity, Code: code, Message: message, Remedy: remedy}
}

// IsMissing reports whether the finding is about missing content, as opposed to wrong
// content.
func (f Finding) IsMissing() bool { return strings.HasSuffix(f.Code, "-missing") }

// Rule documents a kind of finding.
type Rule struct {
	Code string
	// Means describes all findings with this code in one sentence.
	Means string
}
