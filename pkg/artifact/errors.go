package artifact

import "fmt"

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
