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
	// maxFile limits a file, in bytes: a block of rules takes about two hundred.
	maxFile = 1 << 20
	// lookEvery is the minimum time between two looks at the files.
	checkInterval = 2 * time.Second
	// settled is the minimum age of a file's last change after which another change would
	// have another time. File systems count in up to two seconds.
	settleTime = 2 * time.Second
)

// Watched is a value that is read again when its files change. It is safe for concurrent
// use.
type Watched[T any] struct {
	paths    []string
	parse    func(contents [][]byte) (*T, error)
	reloaded func(error)
	value    atomic.Pointer[T]

	// mu guards what follows.
	mu        sync.Mutex
	checkedAt time.Time
	// seen is the state of the files that were read last; nil if they have to be read again.
	files []fs.FileInfo
	hash  [sha256.Size]byte
	// problem is why the files are not in force, or empty.
	problem string
}

// Watch reads files. When they have changed, reloaded is called with nil, or with the
// reason why the previous value stays in force; it may be nil. Errors are those of the file
// system and of parse.
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

// Open watches a file of rules, so that a token can be added and revoked without a
// restart. While the file is missing, empty, or invalid, the previous rules stay in force.
func Open(path string, o Options) (*Watched[Rules], error) {
	keys := &keyCache{http: o.HTTP} // all rules of the file share it
	return Watch(func(contents [][]byte) (*Rules, error) { return parse(path, contents[0], keys) }, o.Reloaded, path)
}

// Get returns the value that is in force. Every few seconds it checks whether the files
// have changed.
func (w *Watched[T]) Get() *T {
	if w.mu.TryLock() { // one caller looks, the others go on
		defer w.mu.Unlock()
		if time.Since(w.checkedAt) >= checkInterval {
			w.check()
			w.checkedAt = time.Now()
		}
	}
	return w.value.Load()
}

// look reads the files again if they have changed, and reports each outcome once.
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

// read reports whether there is a new value, or the old one after a problem. A file that
// was replaced by a rename or a link is another one.
func (w *Watched[T]) reload() (changed bool, err error) {
	// 1. Whether these are the files that were read last.
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
	// 2. What they contain. They may change meanwhile, so they are as new as before.
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
