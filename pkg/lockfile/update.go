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

// mode is that of the files that OpenTofu writes; the umask narrows it.
const mode = 0o644

// Update changes the lock file at path, while no other process that calls Update
// does, and makes it when there is none. A link stays, and the file it leads to is
// changed. The file is replaced as a whole, when its text has changed; after an
// error, also one of change, it is as it was. The error is [ErrChanged] if another
// process wrote the file meanwhile.
func Update(ctx context.Context, path string, change func(*File) error) (changed bool, err error) {
	// 1. Nobody else comes in between.
	place, err := atomicfile.Resolve(path)
	if err != nil {
		return false, fmt.Errorf("updating the lock file: %w", err)
	}
	release, err := lock(ctx, path, place)
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, release()) }()
	// 2. What is there, and what will be.
	before, err := atomicfile.ReadUserFile(place, maxSize)
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
		return false, fmt.Errorf("what would be written is no lock file: %w", err)
	}
	// 3. It replaces what was read, and nothing else.
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

var (
	// ErrSyntax is returned for a lock file that OpenTofu rejects. The error states the
	// position.
	ErrSyntax = provider.Errorf(provider.Misuse, "invalid lock file")
	// ErrChanged is returned if another process changed a lock file during an update.
	ErrChanged = provider.Errorf(provider.Transient, "another process changed it meanwhile, so nothing was written")
)
