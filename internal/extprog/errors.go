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
	// maxStderr is how much of the end of stderr is shown: the error itself and
	// some lines before it.
	maxStderr = 2 << 10
	// maxBeginning is how much of an unwanted answer is shown.
	maxBeginning = 200
)

// Failure is a kind of [Error].
type Failure string

// The kinds of failures.
const (
	NotFound    Failure = "not found"    // the program is not in PATH, or not at its path
	Exited      Failure = "exited"       // with another status than 0, or by a signal
	OverLimit   Failure = "over limit"   // the program was ended for exceeding a limit
	WrongOutput Failure = "wrong output" // the program did not print one JSON object
)

// Error describes why a run failed.
type Error struct {
	Failure Failure
	// Problem is a sentence without its full stop.
	Problem string
	// Stderr is the end of what the program wrote there, at most 2 KiB on one
	// line without control characters.
	Stderr string
	err    error
}

// ErrNotFound is the error about a program that does not exist. It wraps [exec.ErrNotFound].
var ErrNotFound error = &Error{Failure: NotFound, Problem: "there is no such program in PATH", err: exec.ErrNotFound}

func (e *Error) Error() string {
	if e.Stderr == "" {
		return e.Problem
	}
	return e.Problem + ": " + e.Stderr
}

// Unwrap returns [exec.ErrNotFound] if the program was not found.
func (e *Error) Unwrap() error { return e.err }

// IsFailure reports whether an error is of a kind.
func IsFailure(err error, f Failure) bool {
	e, ok := errors.AsType[*Error](err)
	return ok && e.Failure == f
}

// object checks that out is one JSON object, or nothing when that is allowed.
func object(out []byte, call Call) ([]byte, error) {
	trimmed := bytes.TrimSpace(out)
	var problem string
	switch {
	case len(trimmed) == 0 && call.MayBeSilent:
		return nil, nil
	case len(trimmed) == 0:
		return nil, &Error{Failure: WrongOutput, Problem: "it printed nothing and not a JSON object"}
	case trimmed[0] != '{':
		problem = "it printed something else than a JSON object"
	default:
		var one json.RawMessage
		err := json.Unmarshal(out, &one)
		if err == nil {
			return out, nil
		}
		problem = fmt.Sprintf("it printed something else than one JSON object (%v)", bounded.JSONError(err))
	}
	if !call.Private {
		problem += fmt.Sprintf("; its output begins with %q", OneLine(trimmed[:min(len(trimmed), maxBeginning)]))
	}
	return nil, &Error{Failure: WrongOutput, Problem: problem}
}

// notStarted leaves out the package name of os/exec, which is no program.
func notStarted(err error) error {
	if errors.Is(err, exec.ErrNotFound) {
		return ErrNotFound
	}
	if lookup, ok := errors.AsType[*exec.Error](err); ok {
		return lookup.Err
	}
	return err
}

// OneLine joins words by single spaces and drops what could steer a terminal.
func OneLine(text []byte) string {
	words := strings.FieldsFunc(strings.ToValidUTF8(string(text), "\uFFFD"), func(r rune) bool {
		return unicode.IsSpace(r) || !unicode.IsPrint(r)
	})
	return strings.Join(words, " ")
}
