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
	// Missing is the part that the artifact lacks. Programs for artifacts of any kind,
	// such as oras, add this part only with a flag. It is empty for other problems.
	Missing Part
}

// Part is a part of an artifact.
type Part string

// Parts that can be missing.
const (
	IndexType    Part = "index type"    // the artifact type of the index
	ManifestType Part = "manifest type" // the artifact type of a package's manifest
	PlatformPart Part = "platform"      // the platform of a package
	ZipLayer     Part = "zip layer"     // the layer with the zip
)

func (e *FormatError) Error() string {
	return "not a " + cmp.Or(e.Artifact, "provider artifact") + " that OpenTofu can read: " + e.Problem
}

// Kind returns [provider.Malformed].
func (e *FormatError) Kind() provider.ErrorKind { return provider.Malformed }

func missing(part Part, format string, args ...any) error {
	return &FormatError{Problem: fmt.Sprintf(format, args...), Missing: part}
}

func formatError(format string, args ...any) error {
	return &FormatError{Problem: fmt.Sprintf(format, args...)}
}
