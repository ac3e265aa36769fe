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

// folders have entries, and nothing else.
var folders = []string{nameBlobs, nameRecords, nameUnpacked, nameMirrors, nameKnown}

// marker is how the file begins that makes a directory a store. The first line is
// for programs that leave caches out of backups: https://bford.info/cachedir/
const marker = "Signature: 8a477f597d28d172789f06886806bc55\n# A cache of tofu-oci"

// The modes of what is in a store, which the umask narrows.
const (
	modeFile      = 0o644
	modeDirectory = 0o755
)

// Options of [Open]. The zero value trusts what looks untouched, and tells nobody.
type Options struct {
	// Recheck hashes everything before it is used, though it looks untouched.
	Recheck bool
	// Damaged is told that an entry was not what it should be, and is removed:
	// what is wrong is at path. May be nil.
	OnDamaged func(path string, why error)
	// Failed is told, once, that the store can't keep anything more, as on a full
	// disk. What it has can still be used. May be nil.
	OnFailed func(err error)
}

// Store is a directory of verified zips and unpacked packages. It is safe for
// concurrent use. A nil Store has nothing and keeps nothing.
type Store struct {
	dir     string
	options Options
	broken  atomic.Bool
	swept   sync.Once
	// create makes files; tests let the disk be full.
	create func(path string) (file, error)
	// symlink makes links; tests let the system have none.
	symlink func(target, path string) error
}

// file is a file in the making, as of package atomicfile.
type file interface {
	io.Writer
	Commit() error
	Discard()
}

// ErrNotCache says that a directory is no store and does not become one: it has what a
// store would take for its own, and remove.
var ErrNotCache = provider.Errorf(provider.Misuse, "no cache")

// Open returns access to the store in a directory, which need not exist: it is made
// when something is kept. The error is [ErrNotCache]. A directory that can't
// be used for other reasons is told to [Options.OnFailed].
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
		return nil, fmt.Errorf("%s is %w: it is no directory", dir, ErrNotCache)
	}
	// Looked for before the marker, which is written first.
	foreign := ""
	for _, name := range folders {
		if _, err := os.Lstat(filepath.Join(dir, name)); err == nil {
			foreign = name
		}
	}
	if foreign != "" && !s.hasMarker() {
		return nil, fmt.Errorf("%s is %w: it has a %s that tofu-oci did not make as a cache", dir, ErrNotCache, foreign)
	}
	return s, nil
}

// Dir is the store's directory, absolute.
func (s *Store) Dir() string { return s.dir }

// marked reports whether the directory was made as a store.
func (s *Store) hasMarker() bool {
	text, err := bounded.ReadFile(filepath.Join(s.dir, nameMarker), 4<<10)
	return err == nil && strings.HasPrefix(string(text), marker)
}

// begin is called before something is kept.
func (s *Store) initialize() error {
	s.swept.Do(s.sweep)
	if s.hasMarker() {
		return nil
	}
	return s.write(filepath.Join(s.dir, nameMarker), []byte(marker+": see tofu-oci cache --help\n"))
}

// keeps reports whether anything is kept any more.
func (s *Store) isWritable() bool { return s != nil && !s.broken.Load() }

// fail ends the keeping. That a run was interrupted is no failure.
func (s *Store) fail(err error) {
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return
	}
	if !s.broken.Swap(true) && s.options.OnFailed != nil {
		s.options.OnFailed(err)
	}
}

// damaged removes what is wrong, by a function, and tells of it.
func (s *Store) damaged(path string, why error, remove func() error) {
	if err := remove(); err != nil && !errors.Is(err, fs.ErrNotExist) {
		why = fmt.Errorf("%w; it can't be removed: %w", why, err)
	}
	if s.options.OnDamaged != nil {
		s.options.OnDamaged(path, why)
	}
}

// write makes a small file, or puts another in its place.
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

// place returns the path of something of a digest; false where a store has none.
func (s *Store) entryPath(kind string, d digest.Digest) (string, bool) {
	if d.Validate() != nil || d.Algorithm() != digest.SHA256 {
		return "", false
	}
	return filepath.Join(s.folder(kind), d.Encoded()), true
}

func (s *Store) folder(kind string) string {
	return filepath.Join(s.dir, kind, digest.SHA256.String())
}

// sweep removes what killed runs left more than a day ago.
func (s *Store) sweep() {
	atomicfile.Sweep(s.dir)
	for _, kind := range folders {
		atomicfile.Sweep(s.folder(kind))
	}
}

// use notes that an entry was used now. In a directory that may only be read that
// is not possible, and no matter.
func touch(record string) {
	now := time.Now()
	_ = os.Chtimes(record, now, now)
}

// space refuses to fill a disk: an output that lacks the space which the store took
// would be worse than no store. So many times the size has to be free.
func (s *Store) checkSpace(size, times int64) error {
	if err := atomicfile.CheckRoom(s.dir, min(size, math.MaxInt64/times)*times); err != nil {
		return fmt.Errorf("keeping what is left of the disk for other things: %w", err)
	}
	return nil
}

// isEntry knows the names of entries among those that temporary files have.
func isEntry(name string) bool {
	return len(name) == 64 && strings.Trim(name, "0123456789abcdef") == ""
}
