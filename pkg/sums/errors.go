package sums

import (
	"fmt"
	"io"

	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// FileError reports that a SHA256SUMS document is malformed or does not list a file.
type FileError struct {
	// Missing is the name of a file that the document does not list, or empty if the
	// document is malformed.
	Missing string
	// Listed is the name that the document lists instead of Missing if the two names
	// differ only in a prefix "*" or "./", as written by sha256sum. OpenTofu compares
	// names exactly.
	Listed string
	// Line is the number of the malformed line. If zero, Problem applies to the entire
	// document.
	Line int
	// Problem describes a malformed document, without a final period.
	Problem string
}

func (e *FileError) Error() string {
	switch {
	case e.Listed != "":
		return fmt.Sprintf("SHA256SUMS does not list %s; it lists %s, which OpenTofu treats as a different name", e.Missing, e.Listed)
	case e.Missing != "":
		return "SHA256SUMS does not list " + e.Missing
	case e.Line == 0:
		return "SHA256SUMS: " + e.Problem
	}
	return fmt.Sprintf("SHA256SUMS line %d: %s", e.Line, e.Problem)
}

// Kind returns [provider.Unverified].
func (e *FileError) Kind() provider.ErrorKind { return provider.Unverified }

// MismatchError reports that content doesn't match its checksum.
type MismatchError struct {
	// Name describes the content.
	Name string
	// Got and Want are checksums with the prefix of their kind, such as "sha256:…" or
	// "h1:…".
	Got, Want string
}

func (e *MismatchError) Error() string {
	return fmt.Sprintf("checksum of %s is %s, not %s", e.Name, e.Got, e.Want)
}

// Kind returns [provider.Unverified].
func (e *MismatchError) Kind() provider.ErrorKind { return provider.Unverified }

// SizeError reports that content is longer or shorter than expected. If it is shorter, the
// error wraps [io.ErrUnexpectedEOF], because the transfer might have been interrupted and
// can be retried.
type SizeError struct {
	// Name describes the content.
	Name string
	// Got is the size in bytes. If the content is too long, Got is a lower bound.
	Got int64
	// Want is the expected size in bytes.
	Want int64
}

func (e *SizeError) Error() string {
	if e.Got < e.Want {
		return fmt.Sprintf("%s ends after %d of %d bytes", e.Name, e.Got, e.Want)
	}
	return fmt.Sprintf("%s exceeds %d bytes", e.Name, e.Want)
}

// Kind returns [provider.Unverified].
func (e *SizeError) Kind() provider.ErrorKind { return provider.Unverified }

// Unwrap returns [io.ErrUnexpectedEOF] if bytes are missing.
func (e *SizeError) Unwrap() error {
	if e.Got < e.Want {
		return io.ErrUnexpectedEOF
	}
	return nil
}
