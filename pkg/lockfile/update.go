package lockfile

import (
	"bytes"
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

	"github.com/tofu-oci/tofu-oci/internal/atomicfile"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// mode is the file mode of lock files before the umask is applied, as in OpenTofu.
const mode = 0o644

// Update calls change with the lock file at path, or with an empty file if the file
// doesn't exist. If change modifies the file, Update writes the result. Calls for the
// same file are serialized, even across processes. If path is a link, Update
// replaces the target. It replaces the file atomically, so the file is unchanged after
// an error. If another process writes the file without Update, the error wraps
// [ErrChanged].
func Update(ctx context.Context, path string, change func(*File) error) (changed bool, err error) {
	return update(ctx, path, maxWait, change)
}

// update is like Update, but limits how long it waits for another process.
func update(ctx context.Context, path string, wait time.Duration, change func(*File) error) (changed bool, err error) {
	// 1. Lock the file.
	target, err := atomicfile.Resolve(path)
	if err != nil {
		return false, fmt.Errorf("updating the lock file: %w", err)
	}
	release, err := lock(ctx, path, target, wait)
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, release()) }()
	// 2. Read the file, and change it.
	before, err := atomicfile.ReadUserFile(target, maxSize)
	if err != nil {
		return false, fmt.Errorf("reading the lock file: %w", err)
	}
	f, err := Parse(path, before.Text)
	if err != nil {
		return false, err
	}
	if err := change(f); err != nil {
		return false, err
	}
	after := f.Bytes()
	if bytes.Equal(before.Text, after) {
		return false, nil
	}
	if _, err := Parse(path, after); err != nil {
		return false, fmt.Errorf("the changed lock file would be invalid: %w", err)
	}
	// 3. Replace the file, unless another process has changed it.
	if err := ctx.Err(); err != nil {
		return false, err
	}
	if err = before.Replace(after, mode); errors.Is(err, atomicfile.ErrChanged) {
		return false, fmt.Errorf("lock file %s: %w", path, ErrChanged)
	}
	if err != nil {
		return false, fmt.Errorf("writing the lock file: %w", err)
	}
	return true, nil
}

const (
	// maxWait is the maximum time to wait for another process. The other process holds
	// the lock only while it changes a small file.
	maxWait = 30 * time.Second
	// lockPoll is the interval between attempts to lock.
	lockPoll = 20 * time.Millisecond
)

// lock locks a lock file for this process. It locks the directory, because Update
// replaces the file. A separate lock file would remain in a directory that users
// commit. On systems that can't lock directories, such as Windows or NFS, lock locks a
// temporary file. name is used in error messages. path must not contain symbolic links.
func lock(ctx context.Context, name, path string, wait time.Duration) (release func() error, err error) {
	l := flock.New(filepath.Dir(path), flock.SetFlag(os.O_RDONLY))
	if _, err := l.TryLock(); err != nil && !errors.Is(err, fs.ErrNotExist) {
		l = flock.New(lockName(path), flock.SetPermissions(mode))
	}
	waiting, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	_, err = l.TryLockContext(waiting, lockPoll)
	switch {
	case err == nil:
		return l.Close, nil
	case ctx.Err() == nil && errors.Is(err, context.DeadlineExceeded):
		return nil, provider.Errorf(provider.Transient, "lock file %s: locked by another process for more than %s", name, wait)
	}
	return nil, fmt.Errorf("waiting for the lock file %s: %w", name, err)
}

// lockName returns the name of the temporary file that is locked for a path.
func lockName(path string) string {
	sum := sha256.Sum256([]byte(path))
	return filepath.Join(os.TempDir(), "tofu-oci-"+hex.EncodeToString(sum[:16])+".lock")
}

var (
	// ErrSyntax is returned if a lock file is invalid. The error contains the position.
	ErrSyntax = provider.Errorf(provider.Misuse, "invalid lock file")
	// ErrChanged is returned if another process changed a lock file during an update.
	ErrChanged = provider.Errorf(provider.Transient, "changed by another process; nothing was written")
)
