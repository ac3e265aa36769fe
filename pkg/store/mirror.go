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

// Names in the directory of a mirror, beside those of an unpacked package.
const (
	nameMirror  = "mirror"
	namePlugins = "plugins"
)

// MirrorPackage is a package of a mirror.
type MirrorPackage struct {
	// Path is where clients look for it, relative and with slashes:
	// HOST/NAMESPACE/TYPE/VERSION/OS_ARCH, or for a zip
	// HOST/NAMESPACE/TYPE/terraform-provider-TYPE_VERSION_OS_ARCH.zip.
	Path string `json:"path"`
	// Zip is the digest of its zip, which the store has, or has unpacked.
	Zip digest.Digest `json:"zip"`
	// Packed is a zip, not what it unpacks to.
	Packed bool `json:"packed,omitempty"`
}

// Mirror is a directory in the form of a filesystem_mirror, whose packages are
// links to what the store has. It has to be closed; until then neither it nor its
// packages are pruned. Clients link to it, so its path goes by what it holds.
type Mirror struct {
	store *Store
	dir   string
	lock  *flock.Flock
	// trees are its unpacked packages, by their digests.
	trees map[digest.Digest]*Tree
	// linked: all packages are links, of which a plugin cache can be made.
	linked bool
}

// ErrNotCached says that the store has not, or no longer, what a mirror is to hold.
var ErrNotCached = provider.Errorf(provider.NotFound, "not in the cache")

func notCached(p MirrorPackage) error { return fmt.Errorf("%s is %w: %s", p.Path, ErrNotCached, p.Zip) }

// Mirror makes the mirror of some packages, or finds it made. All that it links to
// is right: what the store finds damaged, or does not have, is [ErrNotCached].
func (s *Store) Mirror(ctx context.Context, packages []MirrorPackage) (m *Mirror, err error) {
	packages = slices.Clone(packages)
	slices.SortFunc(packages, func(a, b MirrorPackage) int { return strings.Compare(a.Path, b.Path) })
	text, err := json.Marshal(packages)
	if err != nil {
		return nil, err
	}
	dir, _ := s.entryPath(nameMirrors, digest.FromBytes(text))
	m = &Mirror{store: s, dir: dir, trees: map[digest.Digest]*Tree{}, linked: true}
	defer func() {
		if err != nil {
			_ = m.Close()
		}
	}()
	if err := s.initialize(); err != nil {
		return m, err
	}
	// 1. Its unpacked packages, which stay from now on.
	if err := m.openTrees(ctx, packages); err != nil {
		return m, err
	}
	// 2. The directory, unless it is there.
	if err := m.openDir(ctx, text, packages); err != nil {
		return m, fmt.Errorf("making the mirror %s: %w", dir, err)
	}
	// 3. Its zips, which stay as long as the directory is claimed.
	if err := m.checkZips(ctx, packages); err != nil {
		return m, err
	}
	// 4. What others did to it is undone.
	for _, p := range packages {
		if err := m.addPackage(ctx, m.dir, p); err != nil {
			return m, fmt.Errorf("linking %s to the cache: %w", p.Path, err)
		}
	}
	touch(filepath.Join(dir, nameRecord))
	return m, nil
}

// Dir is for a filesystem_mirror.
func (m *Mirror) Dir() string { return filepath.Join(m.dir, nameMirror) }

// PluginCacheDir is for a plugin cache, and has the unpacked packages. What a client
// adds to it stays as long as the mirror. It is empty where the system makes no links.
func (m *Mirror) PluginCacheDir() string {
	if !m.linked {
		return ""
	}
	return filepath.Join(m.dir, namePlugins)
}

// Close lets the mirror go. More calls do nothing.
func (m *Mirror) Close() error {
	var problems []error
	for _, t := range m.trees {
		problems = append(problems, t.Close())
	}
	if m.lock != nil {
		problems = append(problems, m.lock.Close())
	}
	return errors.Join(problems...)
}

// holdTrees finds unpacked packages in the store.
func (m *Mirror) openTrees(ctx context.Context, packages []MirrorPackage) error {
	for _, p := range packages {
		if !filepath.IsLocal(filepath.FromSlash(p.Path)) {
			return fmt.Errorf("%q is no path in a mirror", p.Path)
		}
		if p.Packed || m.trees[p.Zip] != nil {
			continue
		}
		t, ok := m.store.Tree(ctx, p.Zip)
		if !ok {
			return errors.Join(ctx.Err(), notCached(p))
		}
		m.trees[p.Zip] = t
	}
	return nil
}

// holdZips finds zips in the store.
func (m *Mirror) checkZips(ctx context.Context, packages []MirrorPackage) error {
	if !slices.ContainsFunc(packages, func(p MirrorPackage) bool { return p.Packed }) {
		return nil
	}
	lock := m.store.zipsLock()
	defer lock.Close()
	_, _ = lock.TryRLockContext(ctx, lockPause) // where there are no locks, who prunes may be faster
	for _, p := range packages {
		if !p.Packed {
			continue
		}
		zip, ok := m.store.Blob(ctx, p.Zip)
		if !ok {
			return errors.Join(ctx.Err(), notCached(p))
		}
		_ = zip.Close()
	}
	return nil
}

// zipsLock is held by who removes a zip, and shared by who finds those of a mirror.
func (s *Store) zipsLock() *flock.Flock {
	return flock.New(filepath.Join(s.folder(nameMirrors), nameLock), flock.SetPermissions(modeFile))
}

// claim makes the directory where it is not there, and holds it.
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
			// One that was removed before it was locked is locked for nothing. Where
			// there are no locks, who prunes may remove what is in use.
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
			// It is there and has lost its lock, or it is going right now.
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

// lockPause is how long who removes a mirror holds its lock, more or less.
const lockPause = 20 * time.Millisecond

// make makes the directory.
func (m *Mirror) createDir(ctx context.Context, record []byte, packages []MirrorPackage) error {
	tmp, err := atomicfile.TempDir(filepath.Dir(m.dir))
	if err != nil {
		return err
	}
	defer atomicfile.DiscardDir(tmp) // what remains after a failure
	// One at a time, where there are locks: who comes second removes nothing that it
	// made for nothing. While a name of a file is removed, Windows opens no other.
	lock := m.store.zipsLock()
	defer lock.Close()
	if _, _ = lock.TryLockContext(ctx, lockPause); exists(m.dir) {
		return &fs.PathError{Op: "mkdir", Path: m.dir, Err: fs.ErrExist}
	}
	for _, name := range []string{nameMirror, namePlugins} {
		if err := os.Mkdir(filepath.Join(tmp, name), modeDirectory); err != nil {
			return err
		}
	}
	for _, p := range packages {
		if err := m.addPackage(ctx, tmp, p); err != nil {
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

// mirrored reads what a mirror's directory holds.
func mirrored(dir string) (packages []MirrorPackage) {
	text, err := bounded.ReadFile(filepath.Join(dir, nameRecord), maxRecord)
	if err != nil || bounded.DecodeJSON(text, &packages, maxRecordValues) != nil {
		return nil
	}
	return packages
}
