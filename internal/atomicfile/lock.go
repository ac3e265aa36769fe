package atomicfile

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/gofrs/flock"
)

const (
	// LockName is the name of the file that writers lock in a directory. The file is
	// never removed, because otherwise, two processes could lock different files with
	// this name.
	LockName = ".tofu-oci.lock"
	// poll is the interval between attempts to acquire a lock. A lock is typically held
	// while a few small files are written.
	poll = 10 * time.Millisecond
)

// WithLock calls do while holding the lock of a directory, which must exist. It waits
// for the lock until ctx is canceled.
func WithLock(ctx context.Context, dir string, do func() error) error {
	path := filepath.Join(dir, LockName)
	// Opening a named pipe could block forever.
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
		return fmt.Errorf("locking %s: not a regular file", path)
	}
	lock := flock.New(path, flock.SetPermissions(0o644))
	if _, err := lock.TryLockContext(ctx, poll); err != nil {
		return fmt.Errorf("locking %s: %w", path, err)
	}
	return errors.Join(do(), lock.Close())
}
