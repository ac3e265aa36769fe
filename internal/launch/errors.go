package launch

import (
	"fmt"
	"strings"

	"github.com/tofu-oci/tofu-oci/internal/extprog"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// Fault is the kind of an [Error].
type Fault string

// The kinds of errors.
const (
	// NotStarted means that the system could not start the provider, or that the
	// package has no executable.
	NotStarted Fault = "not started"
	// Message means that the provider printed a message instead of a handshake.
	// OpenTofu reports such a message as an "unrecognized remote plugin message".
	// Providers use it to report missing requirements.
	Message Fault = "message"
	// Handshake means that the handshake line is incomplete or invalid.
	Handshake Fault = "handshake"
	// OtherProtocol means that OpenTofu does not support the provider's protocol.
	OtherProtocol Fault = "other protocol"
	// Ended means that the provider exited before it sent its schema.
	Ended Fault = "ended"
	// Hung means that the timeout expired.
	Hung Fault = "hung"
	// Flooded means that the output exceeded its limit.
	Flooded Fault = "flooded"
	// Schema means that the provider could not send its schema.
	Schema Fault = "schema"
	// Children means that the provider worked and exited when requested, but left child
	// processes running. These processes were killed.
	Children Fault = "children"
)

// Error describes a provider that does not work correctly. Its strings are single lines
// without control characters.
type Error struct {
	Fault Fault
	// Problem describes the problem. It has no final period.
	Problem string
	// Stderr contains at most the last 2 KiB of the provider's stderr.
	Stderr string
}

func (e *Error) Error() string {
	text := e.Problem
	if e.Stderr != "" {
		text += "; stderr: " + e.Stderr
	}
	return text
}

func fail(f Fault, format string, args ...any) *Error {
	return &Error{Fault: f, Problem: fmt.Sprintf(format, args...)}
}

// Kind returns [provider.Unverified].
func (e *Error) Kind() provider.ErrorKind { return provider.Unverified }

// Hint explains how to get more details.
func (e *Error) Hint() string {
	return "OpenTofu is likely to fail in the same way; to see the complete output, run the executable in a clean environment, as --launch does: env -i PATH=\"$PATH\""
}

// maxText limits the length of a provider's message in an error, in bytes.
const maxText = 200

// short formats text as one line of limited length.
func short(text string) string {
	return extprog.OneLine([]byte(text[:min(len(text), maxText)]))
}

// handshakeProblem returns an error if the first line of the provider's stdout is
// invalid. Otherwise, it returns nil. go-plugin's docs/internals.md describes the
// format of the line.
func handshakeProblem(line string) *Error {
	parts := strings.Split(strings.TrimSpace(line), "|")
	printed := short(line)
	switch {
	case len(parts) == 1 || strings.Trim(parts[0], "0123456789") != "":
		return fail(Message, "the provider printed a message instead of the handshake: %q", printed)
	case parts[0] != "1":
		return fail(OtherProtocol, "the provider uses version %s of the handshake, but OpenTofu supports only version 1: %q", short(parts[0]), printed)
	case len(parts) < 4:
		return fail(Handshake, "the provider printed an incomplete handshake: %q", printed)
	case parts[1] != "5" && parts[1] != "6":
		return fail(OtherProtocol, "the provider uses protocol %q, but OpenTofu supports only 5 and 6: %q", short(parts[1]), printed)
	case len(parts) == 4 || parts[4] != "grpc":
		return fail(OtherProtocol, "the provider does not use gRPC, the only protocol that OpenTofu supports: %q", printed)
	}
	return nil
}
