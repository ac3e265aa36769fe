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
	// Message means that the provider printed something other than a handshake, which
	// OpenTofu reports as an "unrecognized remote plugin message". Providers print
	// missing requirements in this way.
	Message Fault = "message"
	// Handshake means that the line of the handshake is incomplete or invalid.
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
	// processes running. They were killed.
	Children Fault = "children"
)

// Error describes a provider that does not work correctly. Its texts are single lines
// without control characters.
type Error struct {
	Fault Fault
	// Problem describes the problem, without a final period.
	Problem string
	// Stderr is the end of the provider's stderr, at most 2 KiB.
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

// Hint returns instructions for showing more details.
func (e *Error) Hint() string {
	return "OpenTofu is likely to fail in the same way; to see the complete output, run the executable in a clean environment like --launch does: env -i PATH=\"$PATH\""
}

// maxText is the maximum length of a provider's text in an error, in bytes.
const maxText = 200

// short returns a text as one line of limited length.
func short(text string) string {
	return extprog.OneLine([]byte(text[:min(len(text), maxText)]))
}

// handshakeProblem returns an error if the first line of the provider's stdout is
// invalid, and otherwise nil. The format of the line is described in go-plugin's
// docs/internals.md.
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
