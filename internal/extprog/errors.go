package extprog

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"unicode"

	"github.com/tofu-oci/tofu-oci/internal/bounded"
)

const (
	// maxStderr limits the part of stderr that errors contain, in bytes. It is enough
	// for the error message and the lines before it.
	maxStderr = 2 << 10
	// maxBeginning limits the part of unexpected output that errors contain, in bytes.
	maxBeginning = 200
)

// Failure is the kind of an [Error].
type Failure string

// The kinds of failures.
const (
	NotFound    Failure = "not found"    // the program is not in PATH, or does not exist
	Exited      Failure = "exited"       // the program exited with a nonzero status, or was killed by a signal
	OverLimit   Failure = "over limit"   // the program was killed because it exceeded a limit
	WrongOutput Failure = "wrong output" // the program did not print a single JSON object
)

// Error explains why a run failed.
type Error struct {
	Failure Failure
	// Problem describes the problem, without a final period.
	Problem string
	// Stderr is the end of the program's stderr. It is at most 2 KiB on one line,
	// without control characters.
	Stderr string
	err    error
}

// ErrNotFound means that a program was not found in PATH. It wraps [exec.ErrNotFound].
var ErrNotFound error = &Error{Failure: NotFound, Problem: "program not found in PATH", err: exec.ErrNotFound}

func (e *Error) Error() string {
	if e.Stderr == "" {
		return e.Problem
	}
	return e.Problem + ": " + e.Stderr
}

// Unwrap returns [exec.ErrNotFound] if the program was not found.
func (e *Error) Unwrap() error { return e.err }

// IsFailure reports whether err is an *[Error] of kind f.
func IsFailure(err error, f Failure) bool {
	e, ok := errors.AsType[*Error](err)
	return ok && e.Failure == f
}

// object returns an error if out is not a single JSON object. If call allows it, out
// can be empty.
func object(out []byte, call Call) ([]byte, error) {
	trimmed := bytes.TrimSpace(out)
	var problem string
	switch {
	case len(trimmed) == 0 && call.MayBeSilent:
		return nil, nil
	case len(trimmed) == 0:
		return nil, &Error{Failure: WrongOutput, Problem: "the program printed nothing; expected a JSON object"}
	case trimmed[0] != '{':
		problem = "the output is not a JSON object"
	default:
		var one json.RawMessage
		err := json.Unmarshal(out, &one)
		if err == nil {
			return out, nil
		}
		problem = fmt.Sprintf("the output is not a single JSON object (%v)", bounded.JSONError(err))
	}
	if !call.Private {
		problem += fmt.Sprintf("; the output begins with %q", OneLine(trimmed[:min(len(trimmed), maxBeginning)]))
	}
	return nil, &Error{Failure: WrongOutput, Problem: problem}
}

// notStarted removes the os/exec prefix from an error.
func notStarted(err error) error {
	if errors.Is(err, exec.ErrNotFound) {
		return ErrNotFound
	}
	if lookup, ok := errors.AsType[*exec.Error](err); ok {
		return lookup.Err
	}
	return err
}

// OneLine joins words with single spaces and removes control characters.
func OneLine(text []byte) string {
	words := strings.FieldsFunc(strings.ToValidUTF8(string(text), "\uFFFD"), func(r rune) bool {
		return unicode.IsSpace(r) || !unicode.IsPrint(r)
	})
	return strings.Join(words, " ")
}
