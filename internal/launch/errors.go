package launch

import (
	"fmt"
	"strings"

	"github.com/tofu-oci/tofu-oci/internal/extprog"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// Fault is what a provider did in place of what it should.
type Fault string

// The faults of [Error].
const (
	// NotStarted: the system refused to start it, or there is nothing to start.
	NotStarted Fault = "not started"
	// Message: it printed something else than a handshake. OpenTofu shows that as
	// an "unrecognized remote plugin message"; it is how providers say what they miss.
	Message Fault = "message"
	// Handshake: the line of its handshake is cut short, or can't be used.
	Handshake Fault = "handshake"
	// OtherProtocol: it speaks a protocol that OpenTofu does not.
	OtherProtocol Fault = "other protocol"
	// Ended: it ended by itself before it had told its schema.
	Ended Fault = "ended"
	// Hung: the time was over.
	Hung Fault = "hung"
	// Flooded: it printed more than it may.
	Flooded Fault = "flooded"
	// Schema: it could not tell its schema.
	Schema Fault = "schema"
	// Children: it told all, ended when it was asked to, and left processes behind.
	// They were ended.
	Children Fault = "children"
)

// Error says that a provider does not work, or not well. None of its texts has
// more than one line, nor control characters.
type Error struct {
	Fault Fault
	// Problem is a sentence without its full stop.
	Problem string
	// Stderr is the end of what it wrote there, at most 2 KiB.
	Stderr string
}

func (e *Error) Error() string {
	text := e.Problem
	if e.Stderr != "" {
		text += "; it wrote to stderr: " + e.Stderr
	}
	return text
}

func fail(f Fault, format string, args ...any) *Error {
	return &Error{Fault: f, Problem: fmt.Sprintf(format, args...)}
}

// Kind is [provider.Unverified].
func (e *Error) Kind() provider.ErrorKind { return provider.Unverified }

// Hint says how to see more of the problem.
func (e *Error) Hint() string {
	return "OpenTofu is likely to meet the same; run the executable by hand to see what it says, with an environment as clean as that of --launch: env -i PATH=\"$PATH\""
}

// maxText is how many bytes of a provider's text an error shows.
const maxText = 200

// short makes one line of a text, and no long one.
func short(text string) string {
	return extprog.OneLine([]byte(text[:min(len(text), maxText)]))
}

// handshakeProblem says what is wrong with the first line of a provider's stdout,
// where it was the provider that did something wrong there. The form of the line
// stands in go-plugin's docs/internals.md.
func handshakeProblem(line string) *Error {
	parts := strings.Split(strings.TrimSpace(line), "|")
	said := short(line)
	switch {
	case len(parts) == 1 || strings.Trim(parts[0], "0123456789") != "":
		return fail(Message, "it printed a message in place of the handshake: %q", said)
	case parts[0] != "1":
		return fail(OtherProtocol, "it speaks version %s of the handshake, OpenTofu version 1: %q", short(parts[0]), said)
	case len(parts) < 4:
		return fail(Handshake, "it printed half the line of a handshake: %q", said)
	case parts[1] != "5" && parts[1] != "6":
		return fail(OtherProtocol, "it speaks protocol %q, OpenTofu 5 and 6: %q", short(parts[1]), said)
	case len(parts) == 4 || parts[4] != "grpc":
		return fail(OtherProtocol, "it does not speak gRPC, OpenTofu nothing else: %q", said)
	}
	return nil
}
