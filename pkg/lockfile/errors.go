package lockfile

import (
	"fmt"
	"time"

	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// Error says what in a lock file OpenTofu refuses, and where.
type Error struct {
	// File is the name that was given to [Parse], or the path.
	File string
	// Line and Column count from 1.
	Line, Column int
	// Problem is a sentence without its full stop.
	Problem string
}

func (e *Error) Error() string {
	return fmt.Sprintf("lock file %s:%d:%d: %s", e.File, e.Line, e.Column, e.Problem)
}

// Kind is [provider.Misuse].
func (e *Error) Kind() provider.ErrorKind { return provider.Misuse }

// BusyError says that another process is writing a lock file.
type BusyError struct {
	Path string
	// Waited is how long this process waited for it; 0 when the other one wrote the
	// file without taking part in the waiting, as OpenTofu does.
	Waited time.Duration
}

func (e *BusyError) Error() string {
	if e.Waited == 0 {
		return fmt.Sprintf("lock file %s: another process changed it meanwhile, so nothing was written", e.Path)
	}
	return fmt.Sprintf("lock file %s: another process is writing it, and was not done after %s", e.Path, e.Waited)
}

// Kind is [provider.Transient].
func (e *BusyError) Kind() provider.ErrorKind { return provider.Transient }
