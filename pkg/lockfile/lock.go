package lockfile

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/gofrs/flock"

	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

const (
	// maxWait is how long another process may take: it holds the lock while it
	// changes one small file.
	maxWait = 30 * time.Second
	// lockPoll is how often a held lock is tried again.
	lockPoll = 20 * time.Millisecond
)

// lock lets one process at a time update a lock file. What is locked is the
// directory: the file itself is replaced, and another file beside it would have to
// stay for ever in a directory that people commit. Where directories cannot be
// locked, as on Windows and on NFS, it is a file among the temporary ones. The name
// is for errors; path leads over no link.
func lock(ctx context.Context, name, path string) (release func() error, err error) {
	l := flock.New(filepath.Dir(path), flock.SetFlag(os.O_RDONLY))
	if _, err := l.TryLock(); err != nil && !errors.Is(err, fs.ErrNotExist) {
		l = flock.New(lockName(path), flock.SetPermissions(mode))
	}
	waiting, cancel := context.WithTimeout(ctx, maxWait)
	defer cancel()
	_, err = l.TryLockContext(waiting, lockPoll)
	switch {
	case err == nil:
		return l.Close, nil
	case ctx.Err() == nil && errors.Is(err, context.DeadlineExceeded):
		return nil, provider.Errorf(provider.Transient, "lock file %s: another process is writing it, and was not done after %s", name, maxWait)
	}
	return nil, fmt.Errorf("waiting for the lock file %s: %w", name, err)
}

// lockName is the same for all names of a file, and each file has another.
func lockName(path string) string {
	sum := sha256.Sum256([]byte(path))
	return filepath.Join(os.TempDir(), "tofu-oci-"+hex.EncodeToString(sum[:16])+".lock")
}
