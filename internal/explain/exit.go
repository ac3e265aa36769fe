// Package explain maps errors to hints for users and, by their [provider.ErrorKind], to
// exit codes.
package explain

import (
	"context"
	"errors"
	"fmt"

	"github.com/tofu-oci/tofu-oci/internal/exec"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// Exit codes. The help text documents them.
const (
	ExitDone        = 0
	ExitFailed      = 1
	ExitUsage       = 2
	ExitPartly      = 3
	ExitUnverified  = 4
	ExitNotFound    = 5
	ExitDenied      = 6
	ExitChanges     = 10 // sync plan --detailed-exitcode
	ExitInterrupted = 130
)

// ExitCodes maps kinds of errors to exit codes.
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

// ExitError sets the exit code of a run whose errors were already reported.
type ExitError struct {
	Code int
	// Child reports whether Code is a child process's exit code. In this case, Code is
	// used even if the run was interrupted.
	Child bool
}

func (e *ExitError) Error() string { return fmt.Sprintf("exit code %d", e.Code) }

// ExitCode returns the exit code for a run that ended with err.
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

// ItemCode returns the exit code for a run whose only error is err.
func ItemCode(err error) int { return ExitCodes[provider.KindOf(err)] }

// Items returns an [ExitError] for a run over several items, or nil if no item failed.
// If all items failed with the same exit code, Items uses that code.
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
