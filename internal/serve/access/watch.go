package access

import (
	"crypto/sha256"
	"io/fs"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tofu-oci/tofu-oci/internal/bounded"
)

const (
	// maxFile bounds a file of rules, in bytes: a block takes some two hundred.
	maxFile = 1 << 20
	// lookEvery is how often a file is looked at, at most.
	lookEvery = 2 * time.Second
	// settled is how old a file's last change has to be, so that another one would give
	// it another time of change. File systems count in up to two seconds.
	settled = 2 * time.Second
)

// File is a file of rules that is read again when it has changed, so that a token can
// be given and taken back without a restart. It is safe for concurrent use.
type File struct {
	path     string
	keys     *keyCache
	reloaded func(error)
	rules    atomic.Pointer[Rules]

	// mu guards what follows.
	mu     sync.Mutex
	looked time.Time
	// seen is what the file system said of what was read last; nil when it has to be
	// read again anyway.
	seen fs.FileInfo
	hash [sha256.Size]byte
	// problem is why the file does not hold, when it does not.
	problem string
}

// Open reads a file of rules. Errors are those of the file system and those of [Parse].
func Open(path string, o Options) (*File, error) {
	keys, err := o.keyCache()
	if err != nil {
		return nil, err
	}
	f := &File{path: path, keys: keys, reloaded: o.Reloaded}
	if f.reloaded == nil {
		f.reloaded = func(error) {}
	}
	if _, err := f.read(); err != nil {
		return nil, err
	}
	f.looked = time.Now()
	return f, nil
}

// Rules returns the rules that are in force. Every few seconds it checks whether the
// file has changed. While the file is missing, empty, or invalid, the previous rules stay
// in force.
func (f *File) Rules() *Rules {
	if f.mu.TryLock() { // one looks, the others go on
		defer f.mu.Unlock()
		if time.Since(f.looked) >= lookEvery {
			f.look()
			f.looked = time.Now()
		}
	}
	return f.rules.Load()
}

// look reads the file again when it has changed, and tells of that once.
func (f *File) look() {
	changed, err := f.read()
	switch {
	case err == nil && changed:
		f.problem = ""
		f.reloaded(nil)
	case err != nil && err.Error() != f.problem:
		f.problem = err.Error()
		f.reloaded(err)
	}
}

// read gives whether there are new rules, or the old ones after a problem. A file that
// was exchanged, by a rename or a link, is another one; what is a pipe is read once.
func (f *File) read() (changed bool, err error) {
	// 1. Whether it is what was read last.
	info, err := os.Stat(f.path)
	if err != nil {
		f.seen = nil
		return false, err
	}
	if f.seen != nil && os.SameFile(info, f.seen) && info.ModTime().Equal(f.seen.ModTime()) && info.Size() == f.seen.Size() {
		return false, nil
	}
	// 2. What it says. It may be changed meanwhile, so it is as new as it was before.
	data, err := bounded.ReadFileOrPipe(f.path, maxFile)
	if err != nil {
		f.seen = nil
		return false, err
	}
	f.seen = info
	if info.Mode().IsRegular() && time.Since(info.ModTime()) < settled {
		f.seen = nil
	}
	hash := sha256.Sum256(data)
	if hash == f.hash && f.problem == "" {
		return false, nil
	}
	f.hash = hash
	rules, err := parse(f.path, data, f.keys)
	if err != nil {
		return false, err
	}
	f.rules.Store(rules)
	return true, nil
}
