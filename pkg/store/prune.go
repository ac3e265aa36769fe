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

// PruneOptions say what may stay. The zero value lets everything stay.
type PruneOptions struct {
	// MaxSize is how many bytes the entries may have together; nil is no limit.
	MaxSize *int64
	// MaxAge is how long ago an entry may have been used last; nil is no limit.
	MaxAge *time.Duration
	// DryRun removes nothing.
	DryRun bool
}

// Pruned is what became of a store.
type Pruned struct {
	// Removed are the entries that were removed, or would be, in that order.
	Removed []Entry
	// InUse are those that had to go and were left, since a process is using them.
	InUse []Entry
	// Kept are the others.
	Kept []Entry
}

// Prune removes entries that were not used for long, and then the least recently
// used ones, until the rest is small enough. What another process is using stays. A
// mirror that is not in use loses its packages one by one, and is made whole when it
// is used again.
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
			p.Kept = append(p.Kept, all[i:]...) // those that follow were used later
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
		case !errors.Is(err, fs.ErrNotExist): // which is what another process removed
			return p, err
		}
		total -= e.Size
	}
	return p, nil
}

// dropRecords removes records of zips that are gone. A zip gets its name before its
// record.
func (s *Store) pruneRecords() {
	names, _ := os.ReadDir(s.folder(nameRecords))
	for _, name := range names {
		if _, err := os.Lstat(filepath.Join(s.folder(nameBlobs), name.Name())); isEntry(name.Name()) && errors.Is(err, fs.ErrNotExist) {
			_ = os.Remove(filepath.Join(s.folder(nameRecords), name.Name()))
		}
	}
}

// errInUse: it is not the time to remove an entry.
var errInUse = errors.New("the entry is in use")

// prune removes an entry that nobody has used since it was listed.
func (s *Store) prune(e Entry, dryRun bool) error {
	if e.Kind == kindZip {
		lock := s.zipsLock()
		defer lock.Close()
		// Where there are no mirrors, or no locks, no mirror is being made.
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
	// Who has it open reads on, or on Windows does not let it go.
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
		links := func(p MirrorPackage) bool { return p.Packed && p.Zip == zip }
		return isEntry(name.Name()) && slices.ContainsFunc(mirrored(dir), links) && errors.Is(removeTree(dir, true), errInUse)
	})
}

// removeTree removes an unpacked package or a mirror that nobody uses.
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
		_ = lock.Close() // it moves no directory with an open file
	}
	err = atomicfile.RemoveDir(dir)
	if refused, ok := errors.AsType[*os.LinkError](err); ok && runtime.GOOS == "windows" && !errors.Is(refused, fs.ErrNotExist) {
		return errInUse // by who opened the lock, or a file, since
	}
	return errors.Join(err, lock.Close())
}
