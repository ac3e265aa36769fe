package artifact

import (
	"errors"
	"fmt"
)

// Conditions that OCI repositories report alike. Test for them with [errors.Is].
var (
	// ErrNotFound: the repository holds no such tag, manifest or blob.
	ErrNotFound = errors.New("not found in the repository")
	// ErrNoRepository: the registry has no such repository, or does not show it
	// to this login.
	ErrNoRepository = errors.New("no such repository")
	// ErrTagMoved: another run moved the tag between reading and writing it.
	ErrTagMoved = errors.New("the tag was moved by another run")
)

// FormatError says that something is not a provider artifact, and what it is
// instead.
type FormatError struct {
	// Problem completes the sentence "the artifact …".
	Problem string
}

func (e *FormatError) Error() string {
	return "not a provider artifact that OpenTofu reads: it " + e.Problem
}

func formatError(format string, args ...any) error {
	return &FormatError{Problem: fmt.Sprintf(format, args...)}
}
