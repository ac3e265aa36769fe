package artifact

import (
	"fmt"

	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// FormatError reports that content is not a provider artifact that OpenTofu can read.
type FormatError struct {
	// Problem describes the problem with the content.
	Problem string
}

func (e *FormatError) Error() string {
	return "not a provider artifact that OpenTofu can read: " + e.Problem
}

// Kind returns [provider.Malformed].
func (e *FormatError) Kind() provider.ErrorKind { return provider.Malformed }

func formatError(format string, args ...any) error {
	return &FormatError{Problem: fmt.Sprintf(format, args...)}
}
