package store

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"time"

	"github.com/gofrs/flock"
	"github.com/opencontainers/go-digest"

	"github.com/tofu-oci/tofu-oci/internal/atomicfile"
)

// PruneOptions configures [Store.Prune]. With the zero value, nothing is removed.
type PruneOptions struct {
	// MaxSize is the maximum total size of the entries in bytes. If nil, the size is
	// not limited.
	MaxSize *int64
	// MaxAge is the maximum time since an entry was last used. If nil, this time is not
	// limited.
	MaxAge *time.Duration
	// DryRun selects the entries to remove, but doesn't remove them.
	DryRun bool
}

// Pruned is the result of [Store.Prune].
type Pruned struct {
	// Removed lists the entries that were removed, in order of removal. In a dry run,
	// it lists the entries that would be removed.
	Removed []Entry
	// InUse lists the entries that were kept only because a process uses them.
	InUse []Entry
	// Kept lists the remaining entries.
	Kept []Entry
}

// Prune removes entries that have not been used for MaxAge. It then removes the least
// recently used entries until the total size does not exceed MaxSize. Prune keeps
// entries that another process is using. A mirror that is not in use can lose
// individual packages, which are restored when the mirror is used again.
func (s *Store) Prune(ctx context.Context, o PruneOptions) (Pruned, error) {
	var p Pruned
	all, err := s.Entries(ctx)
	if err != nil {
		return p, err
	}
	if !o.DryRun {
		s.sweep()
		s.pruneRecords()
		defer s.pruneKnown()
	}
	var total int64
	for _, e := range all {
		total += e.Size
	}
	now := time.Now()
	for i, e := range all {
		old := o.MaxAge != nil && now.Sub(e.Used) > *o.MaxAge
		if !old && (o.MaxSize == nil || total <= *o.MaxSize) {
			p.Kept = append(p.Kept, all[i:]...) // the following entries were used more recently
			break
		}
		if err := ctx.Err(); err != nil {
			return p, err
		}
		switch err := s.prune(e, o.DryRun); {
		case err == nil:
			p.Removed = append(p.Removed, e)
		case errors.Is(err, errInUse), isBusy(err):
			p.InUse = append(p.InUse, e)
			continue
		case !errors.Is(err, fs.ErrNotExist): // if the entry doesn't exist, another process removed it
			return p, err
		}
		total -= e.Size
	}
	return p, nil
}

// pruneRecords removes the records of zips that have been removed. A zip is renamed to
// its final name before its record is written, so a new record always has a zip.
func (s *Store) pruneRecords() {
	names, _ := os.ReadDir(s.folder(nameRecords))
	for _, name := range names {
		if _, err := os.Lstat(filepath.Join(s.folder(nameBlobs), name.Name())); isEntry(name.Name()) && errors.Is(err, fs.ErrNotExist) {
			_ = os.Remove(filepath.Join(s.folder(nameRecords), name.Name()))
		}
	}
}

// errInUse is returned if an entry can't be removed because it is in use.
var errInUse = errors.New("the entry is in use")

// prune removes an entry if it has not been used since it was listed.
func (s *Store) prune(e Entry, dryRun bool) error {
	if e.Kind == kindZip {
		lock := s.zipsLock()
		defer lock.Close()
		// Ignore the error. Locking fails if the store has no mirrors or the file
		// system doesn't support locks.
		_ = lock.Lock()
		if s.mirrored(e.Digest) {
			return errInUse
		}
	}
	if used, err := s.used(e); err != nil {
		return err
	} else if !used.Equal(e.Used) {
		return errInUse
	}
	if e.Kind != kindZip {
		return removeTree(s.path(e), dryRun)
	}
	if dryRun {
		return nil
	}
	// Other processes can continue to read a file after it has been removed. On
	// Windows, an open file can't be removed.
	err := s.removeBlob(e.Digest)
	if err != nil && runtime.GOOS == "windows" {
		return errInUse
	}
	return err
}

// mirrored reports whether a mirror that is in use links to a zip.
func (s *Store) mirrored(zip digest.Digest) bool {
	names, _ := os.ReadDir(s.folder(nameMirrors))
	return slices.ContainsFunc(names, func(name fs.DirEntry) bool {
		dir := filepath.Join(s.folder(nameMirrors), name.Name())
		links := func(p MirrorPackage) bool { return p.Zip == zip }
		return isEntry(name.Name()) && slices.ContainsFunc(mirrored(dir), links) && errors.Is(removeTree(dir, true), errInUse)
	})
}

// removeTree removes an unpacked package or a mirror that is not in use.
func removeTree(dir string, dryRun bool) error {
	if _, err := os.Lstat(dir); err != nil {
		return err
	}
	lock := flock.New(filepath.Join(dir, nameLock), flock.SetPermissions(modeFile))
	locked, err := lock.TryLock()
	if err != nil {
		return fmt.Errorf("locking %s: %w", dir, err)
	}
	if !locked {
		return errInUse
	}
	if dryRun {
		return lock.Close()
	}
	if runtime.GOOS == "windows" {
		_ = lock.Close() // Windows doesn't move a directory that contains an open file
	}
	err = atomicfile.RemoveDir(dir)
	if refused, ok := errors.AsType[*os.LinkError](err); ok && runtime.GOOS == "windows" && !errors.Is(refused, fs.ErrNotExist) {
		return errInUse // another process has opened the lock or a file
	}
	return errors.Join(err, lock.Close())
}
