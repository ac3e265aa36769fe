package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/tofu-oci/tofu-oci/pkg/exec"
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

// exitCode maps what went wrong to a code, by its class.
func exitCode(err error) int {
	if err == nil {
		return exitDone
	}
	return exitCodes[classOf(err)]
}

// childError gives back the exit code of a command that was run, which has said why.
type childError struct{ code int }

func (e *childError) Error() string {
	return fmt.Sprintf("the command ended with exit code %d", e.code)
}

// outcome is the exit code of a run that ended in err.
func outcome(ctx context.Context, err error) int {
	if err == nil {
		return exitDone
	}
	if child, ok := errors.AsType[*childError](err); ok {
		return child.code
	}
	if ctx.Err() != nil {
		return exitInterrupted
	}
	if start, ok := errors.AsType[*exec.StartError](err); ok {
		return start.Code
	}
	if failed, ok := errors.AsType[*itemsError](err); ok {
		return failed.code
	}
	return exitCode(err)
}

// exitCodes are those of the classes; all others are exitFailed.
var exitCodes = map[class]int{
	unverified:  exitUnverified,
	conflict:    exitUnverified,
	misuse:      exitUsage,
	denied:      exitDenied,
	missing:     exitNotFound,
	interrupted: exitInterrupted,
	transient:   exitFailed,
	malformed:   exitFailed,
	refused:     exitFailed,
	unknown:     exitFailed,
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
