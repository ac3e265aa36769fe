package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/gofrs/flock"
	"github.com/opencontainers/go-digest"

	"github.com/tofu-oci/tofu-oci/internal/atomicfile"
	"github.com/tofu-oci/tofu-oci/internal/bounded"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// nameMirror is the name of the filesystem_mirror in the directory of a mirror. The
// directory's other files have the same names as in an unpacked package.
const nameMirror = "mirror"

// MirrorPackage is a package in a mirror.
type MirrorPackage struct {
	// Path is the relative path at which clients look for the zip, with slashes:
	// HOST/NAMESPACE/TYPE/terraform-provider-TYPE_VERSION_OS_ARCH.zip.
	Path string `json:"path"`
	// Zip is the digest of the zip, which the store must have.
	Zip digest.Digest `json:"zip"`
}

// Mirror is a directory with the layout of a filesystem_mirror. Its packages are links
// to zips in the store, because clients only read zips. Through links to unpacked
// packages, clients could overwrite files in the store. The caller must close the
// mirror. Until then, the mirror and its packages are not pruned. The path depends on
// the content.
type Mirror struct {
	store *Store
	dir   string
	lock  *flock.Flock
}

// ErrNotCached is returned if the store doesn't have a package that a mirror needs.
var ErrNotCached = provider.Errorf(provider.NotFound, "not in the cache")

func notCached(p MirrorPackage) error { return fmt.Errorf("%s is %w: %s", p.Path, ErrNotCached, p.Zip) }

// Mirror returns the mirror of the given packages, and creates it if necessary. Mirror
// verifies everything that the mirror links to. If a package is damaged or not in the
// store, it returns [ErrNotCached].
func (s *Store) Mirror(ctx context.Context, packages []MirrorPackage) (m *Mirror, err error) {
	packages = slices.Clone(packages)
	slices.SortFunc(packages, func(a, b MirrorPackage) int { return strings.Compare(a.Path, b.Path) })
	text, err := json.Marshal(packages)
	if err != nil {
		return nil, err
	}
	dir, _ := s.entryPath(nameMirrors, digest.FromBytes(text))
	m = &Mirror{store: s, dir: dir}
	defer func() {
		if err != nil {
			_ = m.Close()
		}
	}()
	if err := s.initialize(); err != nil {
		return m, err
	}
	for _, p := range packages {
		if !filepath.IsLocal(filepath.FromSlash(p.Path)) {
			return m, fmt.Errorf("invalid path %q in a mirror", p.Path)
		}
	}
	// 1. Open the directory, or create it.
	if err := m.openDir(ctx, text, packages); err != nil {
		return m, fmt.Errorf("creating the mirror %s: %w", dir, err)
	}
	// 2. Check the zips. They are not pruned while the directory is locked.
	if err := m.checkZips(ctx, packages); err != nil {
		return m, err
	}
	// 3. Undo changes that other programs made to the directory.
	for _, p := range packages {
		if err := m.addPackage(m.dir, p); err != nil {
			return m, fmt.Errorf("linking %s to the cache: %w", p.Path, err)
		}
	}
	touch(filepath.Join(dir, nameRecord))
	return m, nil
}

// Dir returns the path for a filesystem_mirror block.
func (m *Mirror) Dir() string { return filepath.Join(m.dir, nameMirror) }

// Close releases the mirror. It can be called more than once.
func (m *Mirror) Close() error {
	if m.lock == nil {
		return nil
	}
	return m.lock.Close()
}

func (m *Mirror) checkZips(ctx context.Context, packages []MirrorPackage) error {
	lock := m.store.zipsLock()
	defer lock.Close()
	_, _ = lock.TryRLockContext(ctx, lockPause) // without locks, a concurrent Prune can remove a zip
	for _, p := range packages {
		zip, ok := m.store.Blob(ctx, p.Zip)
		if !ok {
			return errors.Join(ctx.Err(), notCached(p))
		}
		_ = zip.Close()
	}
	return nil
}

// zipsLock returns a lock for zips. Removing a zip requires an exclusive lock, and
// checking the zips of a mirror requires a shared lock.
func (s *Store) zipsLock() *flock.Flock {
	return flock.New(filepath.Join(s.folder(nameMirrors), nameLock), flock.SetPermissions(modeFile))
}

// openDir locks the directory, and creates it if it doesn't exist.
func (m *Mirror) openDir(ctx context.Context, record []byte, packages []MirrorPackage) error {
	path := filepath.Join(m.dir, nameLock)
	for {
		before, err := os.Stat(path)
		switch {
		case err == nil:
			m.lock = flock.New(path, flock.SetPermissions(modeFile))
			_, failure := m.lock.TryRLockContext(ctx, lockPause)
			if ctx.Err() != nil {
				return ctx.Err()
			}
			// If the directory was removed before it was locked, the lock has no
			// effect. If locks aren't supported, a concurrent Prune can remove a mirror
			// that is in use.
			after, err := os.Stat(path)
			if err == nil && os.SameFile(before, after) {
				return nil
			}
			if err := errors.Join(m.lock.Close(), ignore(failure, fs.ErrNotExist), ignore(err, fs.ErrNotExist)); err != nil {
				return err
			}
			continue
		case !errors.Is(err, fs.ErrNotExist):
			return err
		}
		err = m.createDir(ctx, record, packages)
		if _, lost := os.Lstat(path); errors.Is(err, fs.ErrExist) && errors.Is(lost, fs.ErrNotExist) {
			// The directory has lost its lock file or is being removed.
			err = ignore(atomicfile.RemoveDir(m.dir), fs.ErrNotExist)
		}
		if err := ignore(err, fs.ErrExist); err != nil {
			return err
		}
	}
}

func ignore(err, target error) error {
	if errors.Is(err, target) {
		return nil
	}
	return err
}

// lockPause is the pause between attempts to get a lock. Removing a mirror locks it for
// about this long.
const lockPause = 20 * time.Millisecond

// createDir creates the directory and adds the packages.
func (m *Mirror) createDir(ctx context.Context, record []byte, packages []MirrorPackage) error {
	tmp, err := atomicfile.TempDir(filepath.Dir(m.dir))
	if err != nil {
		return err
	}
	defer atomicfile.DiscardDir(tmp) // cleans up after a failure
	// If locks are supported, only one process at a time creates a mirror. Without this
	// lock, a process would have to remove its directory if another process creates the
	// mirror first. On Windows, a file can't be opened under one name while another of
	// its names is being removed.
	lock := m.store.zipsLock()
	defer lock.Close()
	if _, _ = lock.TryLockContext(ctx, lockPause); exists(m.dir) {
		return &fs.PathError{Op: "mkdir", Path: m.dir, Err: fs.ErrExist}
	}
	if err := os.Mkdir(filepath.Join(tmp, nameMirror), modeDirectory); err != nil {
		return err
	}
	for _, p := range packages {
		if err := m.addPackage(tmp, p); err != nil {
			return err
		}
	}
	if err := errors.Join(m.store.write(filepath.Join(tmp, nameRecord), record), m.store.write(filepath.Join(tmp, nameLock), nil)); err != nil {
		return err
	}
	return atomicfile.CommitDir(tmp, m.dir)
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// mirrored returns the packages in the directory of a mirror.
func mirrored(dir string) (packages []MirrorPackage) {
	text, err := bounded.ReadFile(filepath.Join(dir, nameRecord), maxRecord)
	if err != nil || bounded.DecodeJSON(text, &packages, maxRecordValues) != nil {
		return nil
	}
	return packages
}
