package provider

import (
	"context"
	"errors"
	"fmt"
	"slices"
)

// ErrorKind classifies errors for callers that must react to them: the exit code and
// the general hint of the command line follow from it. Its values appear in JSON.
type ErrorKind string

// The kinds of errors, in order of precedence: an error that wraps several
// kinds has the first of them, because wrong bytes must not go unnoticed.
const (
	Unverified  ErrorKind = "unverified"  // the bytes are not those that were promised, or are unsafe
	Conflict    ErrorKind = "conflict"    // something else exists at the target
	Misuse      ErrorKind = "misuse"      // the command line or a configuration is wrong
	Denied      ErrorKind = "denied"      // credentials are missing or insufficient
	NotFound    ErrorKind = "missing"     // the provider, version, platform or repository does not exist
	Interrupted ErrorKind = "interrupted" // the context was canceled
	Malformed   ErrorKind = "malformed"   // a file or response has a form that cannot be read
	Transient   ErrorKind = "transient"   // a later attempt may succeed
	Refused     ErrorKind = "refused"     // declined on purpose
	Unknown     ErrorKind = "unknown"     // everything else
)

var kinds = []ErrorKind{Unverified, Conflict, Misuse, Denied, NotFound, Interrupted, Malformed, Transient, Refused}

// KindOf returns the kind of err, which is that of any error that it wraps and
// that has a method Kind. A canceled context is [Interrupted].
func KindOf(err error) ErrorKind {
	for _, k := range kinds {
		if k.of(err) {
			return k
		}
	}
	return Unknown
}

// of reports whether err is, or wraps, an error of the kind.
func (k ErrorKind) of(err error) bool {
	if kinded, ok := err.(interface{ Kind() ErrorKind }); ok && kinded.Kind() == k {
		return true
	}
	switch wrapper := err.(type) { //nolint:errorlint // this walks the tree of errors itself
	case interface{ Unwrap() error }:
		return k.of(wrapper.Unwrap())
	case interface{ Unwrap() []error }:
		return slices.ContainsFunc(wrapper.Unwrap(), k.of)
	}
	return k == Interrupted && errors.Is(err, context.Canceled)
}

// Errorf returns an error of a kind. It formats its text, and wraps errors, as
// [fmt.Errorf] does.
func Errorf(k ErrorKind, format string, args ...any) error {
	return &kindError{fmt.Errorf(format, args...), k}
}

type kindError struct {
	error
	kind ErrorKind
}

func (e *kindError) Kind() ErrorKind { return e.kind }

func (e *kindError) Unwrap() error { return e.error }
