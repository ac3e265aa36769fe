package sums

import (
	"fmt"
	"io"

	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// SyntaxError says why a text is no SHA256SUMS document.
type SyntaxError struct {
	// Line counts from 1; 0 means the document as a whole.
	Line int
	// Problem is a sentence without its full stop.
	Problem string
}

func (e *SyntaxError) Error() string {
	if e.Line == 0 {
		return "SHA256SUMS: " + e.Problem
	}
	return fmt.Sprintf("SHA256SUMS line %d: %s", e.Line, e.Problem)
}

// Kind is [provider.Unverified].
func (e *SyntaxError) Kind() provider.ErrorKind { return provider.Unverified }

// MissingError says that a SHA256SUMS document does not list a file.
type MissingError struct {
	// Name is the file that was looked for.
	Name string
	// Listed is the name with a "*" or "./" before it where the document has that
	// instead, as sha256sum writes it. OpenTofu compares names letter by letter
	// and does not take it for the file. Empty when there is no such line.
	Listed string
}

func (e *MissingError) Error() string {
	if e.Listed != "" {
		return fmt.Sprintf("SHA256SUMS does not list %s; it lists %s, which OpenTofu does not take for it", e.Name, e.Listed)
	}
	return fmt.Sprintf("SHA256SUMS does not list %s", e.Name)
}

// Kind is [provider.Unverified].
func (e *MissingError) Kind() provider.ErrorKind { return provider.Unverified }

// MismatchError says that content is not what its checksum promised.
type MismatchError struct {
	// Name says whose content it is.
	Name string
	// Got and Want are checksums with their kind in front: "sha256:…", "h1:…".
	Got, Want string
}

func (e *MismatchError) Error() string {
	return fmt.Sprintf("checksum of %s is %s, not %s", e.Name, e.Got, e.Want)
}

// Kind is [provider.Unverified].
func (e *MismatchError) Kind() provider.ErrorKind { return provider.Unverified }

// SizeError says that content is longer or shorter than promised. The shorter
// one wraps [io.ErrUnexpectedEOF], since that is what a transfer looks like
// that broke off and may be tried again.
type SizeError struct {
	// Name says whose content it is.
	Name string
	// Got is how many bytes came; at least so many, when they are too many.
	Got int64
	// Want is how many bytes were promised.
	Want int64
}

func (e *SizeError) Error() string {
	if e.Got < e.Want {
		return fmt.Sprintf("%s ends after %d of %d bytes", e.Name, e.Got, e.Want)
	}
	return fmt.Sprintf("%s is longer than its %d bytes", e.Name, e.Want)
}

// Kind is [provider.Unverified].
func (e *SizeError) Kind() provider.ErrorKind { return provider.Unverified }

// Unwrap returns [io.ErrUnexpectedEOF] when bytes are missing.
func (e *SizeError) Unwrap() error {
	if e.Got < e.Want {
		return io.ErrUnexpectedEOF
	}
	return nil
}
