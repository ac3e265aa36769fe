// Package explain tells users what follows from an error: the exit code, by the error's
// [provider.ErrorKind], and a hint of what to do.
package explain

import (
	"context"
	"errors"
	"fmt"

	"github.com/tofu-oci/tofu-oci/pkg/exec"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// Exit codes, as the help documents them.
const (
	ExitDone        = 0
	ExitFailed      = 1
	ExitUsage       = 2
	ExitPartly      = 3
	ExitUnverified  = 4
	ExitNotFound    = 5
	ExitDenied      = 6
	ExitInterrupted = 130
)

// ExitCodes are the exit codes of the kinds of errors.
var ExitCodes = map[provider.ErrorKind]int{
	provider.Unverified:  ExitUnverified,
	provider.Conflict:    ExitUnverified,
	provider.Misuse:      ExitUsage,
	provider.Denied:      ExitDenied,
	provider.NotFound:    ExitNotFound,
	provider.Interrupted: ExitInterrupted,
	provider.Malformed:   ExitFailed,
	provider.Transient:   ExitFailed,
	provider.Refused:     ExitFailed,
	provider.Unknown:     ExitFailed,
}

// ExitError ends a run whose errors were reported already, so that only its exit code is left.
type ExitError struct {
	Code int
	// Child reports that it is the exit code of a command that was run, which counts even
	// if the run was interrupted.
	Child bool
}

func (e *ExitError) Error() string { return fmt.Sprintf("exit code %d", e.Code) }

// ExitCode returns the exit code of a run that ended in err.
func ExitCode(ctx context.Context, err error) int {
	exit, reported := errors.AsType[*ExitError](err)
	switch {
	case err == nil:
		return ExitDone
	case reported && exit.Child:
		return exit.Code
	case ctx.Err() != nil:
		return ExitInterrupted
	case reported:
		return exit.Code
	}
	if start, ok := errors.AsType[*exec.StartError](err); ok {
		return start.Code
	}
	return ItemCode(err)
}

// ItemCode returns the exit code of a run in which only err happened.
func ItemCode(err error) int { return ExitCodes[provider.KindOf(err)] }

// Items returns the error of a run over several items, whose errors were reported: nil if
// none failed, and their common exit code if all failed alike.
func Items(done int, failed []error) error {
	if len(failed) == 0 {
		return nil
	}
	if done > 0 {
		return &ExitError{Code: ExitPartly}
	}
	code := ItemCode(failed[0])
	for _, err := range failed[1:] {
		if ItemCode(err) != code {
			code = ExitFailed
		}
	}
	return &ExitError{Code: code}
}
