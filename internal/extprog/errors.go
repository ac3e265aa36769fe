package extprog

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
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

// ExitError says that a program ended with another status than 0, or by a
// signal.
type ExitError struct {
	State *os.ProcessState
	// Stderr is the end of what the program wrote there, at most 2 KiB on one
	// line without control characters.
	Stderr string
}

func (e *ExitError) Error() string { return e.State.String() + said(e.Stderr) }

// LimitError says which limit a program was over. It was ended for that.
type LimitError struct {
	// Limit is a sentence without its full stop.
	Limit string
	// Stderr is as in [ExitError].
	Stderr string
}

func (e *LimitError) Error() string { return e.Limit + said(e.Stderr) }

// OutputError says that a program did not print one JSON object.
type OutputError struct {
	// Problem says what is wrong with the output.
	Problem string
	// Beginning is its start, at most 200 bytes on one line without control
	// characters. It is empty for [Call.Private].
	Beginning string
}

func (e *OutputError) Error() string {
	if e.Beginning == "" {
		return e.Problem
	}
	return fmt.Sprintf("%s; its output begins with %q", e.Problem, e.Beginning)
}

// object checks that out is one JSON object, or nothing when that is allowed.
func object(out []byte, call Call) ([]byte, error) {
	trimmed := bytes.TrimSpace(out)
	switch {
	case len(trimmed) == 0 && call.MayBeSilent:
		return nil, nil
	case len(trimmed) == 0:
		return nil, &OutputError{Problem: "it printed nothing and not a JSON object"}
	}
	var beginning string
	if !call.Private {
		beginning = OneLine(trimmed[:min(len(trimmed), maxBeginning)])
	}
	if trimmed[0] != '{' {
		return nil, &OutputError{Problem: "it printed something else than a JSON object", Beginning: beginning}
	}
	var one json.RawMessage
	if err := json.Unmarshal(out, &one); err != nil {
		return nil, &OutputError{Problem: fmt.Sprintf("it printed something else than one JSON object (%v)", bounded.JSONError(err)), Beginning: beginning}
	}
	return out, nil
}

// notStarted leaves out the package name of os/exec, which is no program.
func notStarted(err error) error {
	var lookup *exec.Error
	switch {
	case errors.Is(err, exec.ErrNotFound):
		return &NotFoundError{Err: err}
	case errors.As(err, &lookup):
		return lookup.Err
	}
	return err
}

// NotFoundError says that a program is not in PATH, or not where it is named to be.
type NotFoundError struct{ Err error }

func (e *NotFoundError) Error() string { return "there is no such program in PATH" }

// Unwrap gives [exec.ErrNotFound].
func (e *NotFoundError) Unwrap() error { return e.Err }

func said(stderr string) string {
	if stderr == "" {
		return ""
	}
	return ": " + stderr
}

// OneLine joins words by single spaces and drops what could steer a terminal.
func OneLine(text []byte) string {
	words := strings.FieldsFunc(strings.ToValidUTF8(string(text), "\uFFFD"), func(r rune) bool {
		return unicode.IsSpace(r) || !unicode.IsPrint(r)
	})
	return strings.Join(words, " ")
}
