package artifact

import (
	"fmt"

	"github.com/tofu-oci/tofu-oci/pkg/provider"
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

// Kind is [provider.Malformed].
func (e *FormatError) Kind() provider.ErrorKind { return provider.Malformed }

func formatError(format string, args ...any) error {
	return &FormatError{Problem: fmt.Sprintf(format, args...)}
}
