package store

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/opencontainers/go-digest"

	"github.com/tofu-oci/tofu-oci/internal/atomicfile"
	"github.com/tofu-oci/tofu-oci/internal/bounded"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// Names in the directory of a store.
const (
	nameMarker   = "CACHEDIR.TAG"
	nameBlobs    = "blobs"
	nameRecords  = "records"
	nameUnpacked = "unpacked"
	nameMirrors  = "mirrors"
	nameKnown    = "packages"
)

// folders lists the directories that contain only entries.
var folders = []string{nameBlobs, nameRecords, nameUnpacked, nameMirrors, nameKnown}

// marker is the beginning of the file that identifies a store. The first line makes
// backup programs exclude the directory. See https://bford.info/cachedir/.
const marker = "Signature: 8a477f597d28d172789f06886806bc55\n# A cache of tofu-oci"

// The modes of files and directories in a store, before the umask is applied.
const (
	modeFile      = 0o644
	modeDirectory = 0o755
)

// Options configures [Open]. With the zero value, the store trusts unchanged files and
// doesn't report problems.
type Options struct {
	// Recheck hashes all content before the content is used, even if it appears
	// unchanged.
	Recheck bool
	// OnDamaged, if not nil, is called when a damaged entry is removed. path is the
	// location of the damage.
	OnDamaged func(path string, why error)
	// OnFailed, if not nil, is called once if the store becomes unable to store
	// content, for example because the disk is full. Existing entries can still be
	// used.
	OnFailed func(err error)
}

// Store is a directory of verified zips and unpacked packages. It is safe for
// concurrent use. A nil Store is empty and stores nothing.
type Store struct {
	dir     string
	options Options
	broken  atomic.Bool
	swept   sync.Once
	// create creates files. Tests replace it to simulate a full disk.
	create func(path string) (file, error)
	// symlink creates links. Tests replace it to simulate a system without links.
	symlink func(target, path string) error
}

// file is a file that is being written, as in package atomicfile.
type file interface {
	io.Writer
	Commit() error
	Discard()
}

// ErrNotCache is returned for a directory that is not a store and contains other files.
// A store would treat these files as its own and remove them.
var ErrNotCache = provider.Errorf(provider.Misuse, "not a cache")

// Open opens the store in a directory. The directory need not exist, because the store
// creates it when something is stored. Open returns [ErrNotCache] if the directory is
// not a store. If the directory can't be used for other reasons, Open calls OnFailed.
func Open(dir string, o Options) (*Store, error) {
	if absolute, err := filepath.Abs(dir); err == nil {
		dir = absolute
	}
	s := &Store{dir: dir, options: o, create: func(path string) (file, error) { return atomicfile.Create(path, modeFile) }, symlink: os.Symlink}
	info, err := os.Stat(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return s, nil
	case err != nil:
		s.fail(err)
		return s, nil
	case !info.IsDir():
		return nil, fmt.Errorf("%s is %w: not a directory", dir, ErrNotCache)
	}
	// Check for entries before checking for the marker, because the marker is written
	// first.
	foreign := ""
	for _, name := range folders {
		if _, err := os.Lstat(filepath.Join(dir, name)); err == nil {
			foreign = name
		}
	}
	if foreign != "" && !s.hasMarker() {
		return nil, fmt.Errorf("%s is %w: it contains %s, which was not created by tofu-oci", dir, ErrNotCache, foreign)
	}
	return s, nil
}

// Dir returns the absolute path of the store.
func (s *Store) Dir() string { return s.dir }

// hasMarker reports whether the directory contains the marker of a store.
func (s *Store) hasMarker() bool {
	text, err := bounded.ReadFile(filepath.Join(s.dir, nameMarker), 4<<10)
	return err == nil && strings.HasPrefix(string(text), marker)
}

// initialize prepares the directory before anything is stored.
func (s *Store) initialize() error {
	s.swept.Do(s.sweep)
	if s.hasMarker() {
		return nil
	}
	return s.write(filepath.Join(s.dir, nameMarker), []byte(marker+": see tofu-oci cache --help\n"))
}

// isWritable reports whether the store can still store content.
func (s *Store) isWritable() bool { return s != nil && !s.broken.Load() }

// fail stops storing content. It ignores errors that are caused by canceled contexts.
func (s *Store) fail(err error) {
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return
	}
	if !s.broken.Swap(true) && s.options.OnFailed != nil {
		s.options.OnFailed(err)
	}
}

// damaged removes a damaged entry with the given function, and reports it.
func (s *Store) damaged(path string, why error, remove func() error) {
	if err := remove(); err != nil && !errors.Is(err, fs.ErrNotExist) {
		why = fmt.Errorf("%w; removing it failed: %w", why, err)
	}
	if s.options.OnDamaged != nil {
		s.options.OnDamaged(path, why)
	}
}

// write creates or replaces a small file.
func (s *Store) write(path string, content []byte) error {
	f, err := s.create(path)
	if err != nil {
		return err
	}
	defer f.Discard()
	if _, err := f.Write(content); err != nil {
		return err
	}
	return f.Commit()
}

// entryPath returns the path of an entry by its digest. It returns false if the store
// doesn't support the digest.
func (s *Store) entryPath(kind string, d digest.Digest) (string, bool) {
	if d.Validate() != nil || d.Algorithm() != digest.SHA256 {
		return "", false
	}
	return filepath.Join(s.folder(kind), d.Encoded()), true
}

func (s *Store) folder(kind string) string {
	return filepath.Join(s.dir, kind, digest.SHA256.String())
}

// sweep removes temporary files that are more than a day old. They were created by
// processes that were killed.
func (s *Store) sweep() {
	atomicfile.Sweep(s.dir)
	for _, kind := range folders {
		atomicfile.Sweep(s.folder(kind))
	}
}

// touch records that an entry was used now. Errors are ignored, because the directory
// might be read-only.
func touch(record string) {
	now := time.Now()
	_ = os.Chtimes(record, now, now)
}

// checkSpace returns an error if the free space is less than size multiplied by times.
// The store must not use disk space that the output needs.
func (s *Store) checkSpace(size, times int64) error {
	if err := atomicfile.CheckFreeSpace(s.dir, min(size, math.MaxInt64/times)*times); err != nil {
		return fmt.Errorf("reserving disk space for other files: %w", err)
	}
	return nil
}

// isEntry reports whether a name is the name of an entry and not of a temporary file.
func isEntry(name string) bool {
	return len(name) == 64 && strings.Trim(name, "0123456789abcdef") == ""
}
