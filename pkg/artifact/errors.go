package artifact

import (
	"cmp"
	"fmt"

	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// FormatError reports that content is not an artifact that OpenTofu can read.
type FormatError struct {
	// Artifact is the kind of artifact that was expected. If empty, a provider artifact
	// was expected.
	Artifact string
	// Problem describes the problem with the content.
	Problem string
}

func (e *FormatError) Error() string {
	return "not a " + cmp.Or(e.Artifact, "provider artifact") + " that OpenTofu can read: " + e.Problem
}

// Kind returns [provider.Malformed].
func (e *FormatError) Kind() provider.ErrorKind { return provider.Malformed }

func formatError(format string, args ...any) error {
	return &FormatError{Problem: fmt.Sprintf(format, args...)}
}
