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
	// LockName is the file of a directory that its writers lock. It stays: removing it
	// would let two processes lock two files of the same name.
	LockName = ".tofu-oci.lock"
	// poll is how often a held lock is tried again; it is held for the time of a few
	// small files.
	poll = 10 * time.Millisecond
)

// WithLock runs do while no other process does for the same directory, which must exist.
// It waits as long as ctx lasts.
func WithLock(ctx context.Context, dir string, do func() error) error {
	path := filepath.Join(dir, LockName)
	// A pipe would be waited for without end.
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
		return fmt.Errorf("locking %s: it is no file", path)
	}
	lock := flock.New(path, flock.SetPermissions(0o644))
	if _, err := lock.TryLockContext(ctx, poll); err != nil {
		return fmt.Errorf("locking %s: %w", path, err)
	}
	return errors.Join(do(), lock.Close())
}
