package access

import (
	"crypto/sha256"
	"io/fs"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tofu-oci/tofu-oci/internal/bounded"
)

const (
	// maxFile limits the size of a file in bytes. A block of rules is about 200 bytes
	// long.
	maxFile = 1 << 20
	// checkInterval is the minimum time between two checks of the files.
	checkInterval = 2 * time.Second
	// settleTime is the minimum time between two changes that guarantees different
	// modification times. Some file systems round these times to two seconds.
	settleTime = 2 * time.Second
)

// Watched is a value that is reloaded when its files change. It is safe for concurrent
// use.
type Watched[T any] struct {
	paths    []string
	parse    func(contents [][]byte) (*T, error)
	reloaded func(error)
	value    atomic.Pointer[T]

	// mu guards the fields below.
	mu        sync.Mutex
	checkedAt time.Time
	// files contains the files' state when they were read. It is nil if the files must
	// be read again.
	files []fs.FileInfo
	hash  [sha256.Size]byte
	// problem is the error of the last reload. It is empty if the reload succeeded.
	problem string
}

// Watch reads files and parses their contents. If reloaded is not nil, it is called
// after the files have changed. Its argument is nil if the new value is in force.
// Otherwise, it explains why the previous value remains in force. Watch returns file
// system errors and the errors from parse.
func Watch[T any](parse func(contents [][]byte) (*T, error), reloaded func(error), paths ...string) (*Watched[T], error) {
	w := &Watched[T]{paths: paths, parse: parse, reloaded: reloaded}
	if w.reloaded == nil {
		w.reloaded = func(error) {}
	}
	if _, err := w.reload(); err != nil {
		return nil, err
	}
	w.checkedAt = time.Now()
	return w, nil
}

// Open watches a rules file, so that tokens can be added and revoked without a restart.
// If the file is missing, empty, or invalid, the previous rules remain in force.
func Open(path string, o Options) (*Watched[Rules], error) {
	keys := &keyCache{http: o.HTTP} // shared by all versions of the file
	return Watch(func(contents [][]byte) (*Rules, error) { return parse(path, contents[0], keys) }, o.Reloaded, path)
}

// Get returns the current value. It checks at most once every few seconds whether the
// files have changed.
func (w *Watched[T]) Get() *T {
	if w.mu.TryLock() { // only one caller checks, and no caller waits
		defer w.mu.Unlock()
		if time.Since(w.checkedAt) >= checkInterval {
			w.check()
			w.checkedAt = time.Now()
		}
	}
	return w.value.Load()
}

// check reloads the files if they have changed and reports each result once.
func (w *Watched[T]) check() {
	changed, err := w.reload()
	switch {
	case err == nil && changed:
		w.problem = ""
		w.reloaded(nil)
	case err != nil && err.Error() != w.problem:
		w.problem = err.Error()
		w.reloaded(err)
	}
}

// reload reads the files if they have changed. It reports whether the value has
// changed, or whether the previous value is valid again after a problem. A file that
// was replaced by a rename or through a link is treated as changed.
func (w *Watched[T]) reload() (changed bool, err error) {
	// 1. Check whether the files are unchanged.
	var now []fs.FileInfo
	isSettled := true
	for _, path := range w.paths {
		info, err := os.Stat(path)
		if err != nil {
			w.files = nil
			return false, err
		}
		now = append(now, info)
		isSettled = isSettled && (!info.Mode().IsRegular() || time.Since(info.ModTime()) >= settleTime)
	}
	if slices.EqualFunc(now, w.files, isUnchanged) {
		return false, nil
	}
	// 2. Read the files. If they change while being read, the earlier state causes
	// another reload.
	w.files = nil
	contents, hash := make([][]byte, len(w.paths)), sha256.New()
	for i, path := range w.paths {
		if contents[i], err = bounded.ReadFileOrPipe(path, maxFile); err != nil {
			return false, err
		}
		sum := sha256.Sum256(contents[i])
		hash.Write(sum[:])
	}
	if isSettled {
		w.files = now
	}
	sum := [sha256.Size]byte(hash.Sum(nil))
	if sum == w.hash && w.problem == "" {
		return false, nil
	}
	w.hash = sum
	value, err := w.parse(contents)
	if err != nil {
		return false, err
	}
	w.value.Store(value)
	return true, nil
}

func isUnchanged(a, b fs.FileInfo) bool {
	return os.SameFile(a, b) && a.ModTime().Equal(b.ModTime()) && a.Size() == b.Size()
}
