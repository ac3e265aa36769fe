package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/tofu-oci/tofu-oci/pkg/installation"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/pull"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
	"github.com/tofu-oci/tofu-oci/pkg/source/builddir"
	"github.com/tofu-oci/tofu-oci/pkg/source/filesystem"
	"github.com/tofu-oci/tofu-oci/pkg/source/origin"
	"github.com/tofu-oci/tofu-oci/pkg/sums"
	"github.com/tofu-oci/tofu-oci/pkg/template"
)

// Exit codes, as the help documents them.
const (
	exitDone        = 0
	exitFailed      = 1
	exitUsage       = 2
	exitPartly      = 3
	exitUnverified  = 4
	exitNotFound    = 5
	exitDenied      = 6
	exitInterrupted = 130
)

// usage is a mistake in the command line or the configuration. What wraps no
// usage came from elsewhere: a document of a registry can be malformed too.
type usage struct{ err error }

func (e *usage) Error() string { return e.err.Error() }

func (e *usage) Unwrap() error { return e.err }

func usagef(format string, args ...any) error { return &usage{fmt.Errorf(format, args...)} }

// exitCode maps what went wrong to a code. Wrong bytes come first: whatever else
// an error is, that has to be seen.
func exitCode(err error) int {
	switch {
	case err == nil:
		return exitDone
	case isA[*sums.MismatchError](err), isA[*sums.MissingError](err), isA[*sums.SyntaxError](err), isA[*sums.SizeError](err),
		isA[*provider.IdentityError](err), isA[*repository.ConflictError](err), isA[*pull.ExistsError](err), isA[*builddir.PackageError](err):
		return exitUnverified
	case isA[*usage](err), isA[*template.ReferenceError](err), isA[*installation.NotSupportedError](err), isA[*filesystem.UnpackedError](err):
		return exitUsage
	case errors.Is(err, provider.ErrDenied):
		return exitDenied
	case errors.Is(err, provider.ErrProviderNotFound), errors.Is(err, provider.ErrVersionNotFound),
		errors.Is(err, repository.ErrNoRepository), errors.Is(err, origin.ErrNoRegistry), isA[*provider.PlatformError](err):
		return exitNotFound
	case errors.Is(err, context.Canceled):
		return exitInterrupted
	}
	return exitFailed
}

func isA[E error](err error) bool {
	_, ok := errors.AsType[E](err)
	return ok
}

// itemsError stands for the errors of items, which were printed as they came.
type itemsError struct{ code int }

func (e *itemsError) Error() string { return fmt.Sprintf("items failed (exit code %d)", e.code) }

// itemsResult is the error of a run over several items: nil when none failed,
// their common code when all failed alike.
func itemsResult(done int, failed []error) error {
	if len(failed) == 0 {
		return nil
	}
	if done > 0 {
		return &itemsError{exitPartly}
	}
	code := exitCode(failed[0])
	for _, err := range failed[1:] {
		if exitCode(err) != code {
			code = exitFailed
		}
	}
	return &itemsError{code}
}
