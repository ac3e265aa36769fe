package provider

import (
	"context"
	"errors"
	"fmt"
	"slices"
)

// ErrorKind classifies errors by how callers must react. The exit code and the hint of
// the command line depend on the kind. The values appear in JSON output.
type ErrorKind string

// The kinds of errors, in order of precedence. If an error wraps errors of different
// kinds, the kind with the highest precedence applies, so a verification failure is
// never hidden.
const (
	Unverified  ErrorKind = "unverified"  // content doesn't match its checksum or is unsafe
	Conflict    ErrorKind = "conflict"    // different content exists at the target
	Misuse      ErrorKind = "misuse"      // the command line or a configuration is invalid
	Denied      ErrorKind = "denied"      // credentials are missing or insufficient
	NotFound    ErrorKind = "missing"     // the provider, version, platform, or repository does not exist
	Interrupted ErrorKind = "interrupted" // the context was canceled
	Malformed   ErrorKind = "malformed"   // a file or response can't be parsed
	Transient   ErrorKind = "transient"   // a later attempt might succeed
	Refused     ErrorKind = "refused"     // rejected by policy or by design
	Unknown     ErrorKind = "unknown"     // everything else
)

var kinds = []ErrorKind{Unverified, Conflict, Misuse, Denied, NotFound, Interrupted, Malformed, Transient, Refused}

// KindOf returns the kind of err. If an error in its tree has a Kind method, KindOf
// returns the result of this method. For an error that wraps [context.Canceled], it
// returns [Interrupted]. Otherwise, it returns [Unknown].
func KindOf(err error) ErrorKind {
	for _, k := range kinds {
		if k.of(err) {
			return k
		}
	}
	return Unknown
}

// of reports whether err is or wraps an error of this kind.
func (k ErrorKind) of(err error) bool {
	if kinded, ok := err.(interface{ Kind() ErrorKind }); ok && kinded.Kind() == k {
		return true
	}
	switch wrapper := err.(type) { //nolint:errorlint // this function walks the error tree itself
	case interface{ Unwrap() error }:
		return k.of(wrapper.Unwrap())
	case interface{ Unwrap() []error }:
		return slices.ContainsFunc(wrapper.Unwrap(), k.of)
	}
	return k == Interrupted && errors.Is(err, context.Canceled)
}

// Errorf returns an error of the given kind. It formats the text and wraps errors like
// [fmt.Errorf].
func Errorf(k ErrorKind, format string, args ...any) error {
	return &kindError{fmt.Errorf(format, args...), k}
}

type kindError struct {
	error
	kind ErrorKind
}

func (e *kindError) Kind() ErrorKind { return e.kind }

func (e *kindError) Unwrap() error { return e.error }
