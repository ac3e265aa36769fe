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

	"github.com/gofrs/flock"
	"github.com/opencontainers/go-digest"

	"github.com/tofu-oci/tofu-oci/internal/atomicfile"
	"github.com/tofu-oci/tofu-oci/internal/bounded"
	"github.com/tofu-oci/tofu-oci/pkg/sums"
)

// Names in the directory of an unpacked package.
const (
	nameFiles  = "files"
	nameRecord = "record"
	nameLock   = "lock"
)

const (
	// maxRecord limits the size of a record, in bytes. maxRecordValues limits the
	// number of its JSON values. Both limits allow 100,000 files per package, the
	// maximum in package packagezip.
	maxRecord       = 64 << 20
	maxRecordValues = 800_000
)

// Hashes contains the two h1 hashes of a package.
type Hashes struct {
	// H1 is the "h1:…" hash of the zip, as in lock files and origin registries.
	H1 string `json:"h1"`
	// Unpacked is the h1 hash of the directory. It differs from H1 if the zip contains
	// directory entries.
	Unpacked string `json:"h1_unpacked"`
}

// treeRecord is the record of an unpacked package.
type treeRecord struct {
	Hashes
	Files []atomicfile.Entry `json:"files"`
}

// Tree is a verified unpacked package in the store. The caller must close it. Until
// then, the package is not pruned.
type Tree struct {
	store  *Store
	dir    string
	lock   *flock.Flock
	files  *os.Root
	record treeRecord
}

// Tree opens the unpacked package of a zip. ok is false if the store doesn't have this
// package. If the files have changed since they were verified, Tree hashes them. If a
// file is damaged, missing, or new, Tree removes the package.
func (s *Store) Tree(ctx context.Context, d digest.Digest) (t *Tree, ok bool) {
	if s == nil {
		return nil, false
	}
	dir, ok := s.entryPath(nameUnpacked, d)
	if !ok {
		return nil, false
	}
	if _, err := os.Lstat(dir); err != nil {
		if !errors.Is(err, fs.ErrNotExist) {
			s.fail(err)
		}
		return nil, false
	}
	t = &Tree{store: s, dir: dir, lock: flock.New(filepath.Join(dir, nameLock), flock.SetPermissions(modeFile))}
	// If another process holds the lock, that process is removing the package. Without
	// locks, files can disappear during a copy. CopyTo detects this.
	if locked, err := t.lock.TryRLock(); err == nil && !locked {
		return nil, false
	}
	err := t.open()
	if err == nil {
		return t, true
	}
	_ = t.Close()
	switch {
	case ctx.Err() != nil:
	case errors.Is(err, fs.ErrPermission), isBusy(err):
		s.fail(err)
	default:
		t.damaged(err)
	}
	return nil, false
}

func (t *Tree) open() (err error) {
	record := filepath.Join(t.dir, nameRecord)
	if t.record, err = readRecord(record); err != nil {
		return err
	}
	if info, err := os.Lstat(filepath.Join(t.dir, nameFiles)); err != nil || !info.IsDir() {
		return errors.New("the directory with the package's files is missing")
	}
	if t.files, err = os.OpenRoot(filepath.Join(t.dir, nameFiles)); err != nil {
		return err
	}
	now, err := atomicfile.ListFiles(t.files)
	if err != nil {
		return err
	}
	if t.store.options.Recheck || !slices.Equal(now, t.record.Files) {
		if err := t.hash(now); err != nil {
			return err
		}
		t.record.Files = now
		if text, err := json.Marshal(t.record); err == nil {
			// If writing the record fails, the files are hashed again the next time.
			_ = t.store.write(record, text)
		}
	}
	touch(record)
	return nil
}

func readRecord(path string) (r treeRecord, err error) {
	text, err := bounded.ReadFile(path, maxRecord)
	if err != nil {
		return r, fmt.Errorf("reading the record: %w", err)
	}
	if err := bounded.DecodeJSON(text, &r, maxRecordValues); err != nil {
		return r, fmt.Errorf("reading the record: %w", err)
	}
	if slices.ContainsFunc(r.Files, func(f atomicfile.Entry) bool { return f.Name == "" }) {
		return r, errors.New("reading the record: a file has no name")
	}
	return r, nil
}

// hash reads all files. It returns an error if names, modes, or contents differ from
// the record, or if a file changes while being read.
func (t *Tree) hash(now []atomicfile.Entry) error {
	form := func(a, b atomicfile.Entry) bool { return a.Name == b.Name && a.Executable == b.Executable }
	if !slices.EqualFunc(now, t.record.Files, form) {
		return errors.New("a file is missing, was added, or has a different mode")
	}
	h1, err := sums.H1Dir(filepath.Join(t.dir, nameFiles))
	if err != nil {
		return err
	}
	if h1 != t.record.Unpacked {
		return &sums.MismatchError{Name: t.dir, Got: h1, Want: t.record.Unpacked}
	}
	if after, err := atomicfile.ListFiles(t.files); err != nil || !slices.Equal(after, now) {
		return errors.New("files changed while being read")
	}
	return nil
}

// Hashes returns the hashes of the package.
func (t *Tree) Hashes() Hashes { return t.record.Hashes }

// CopyTo copies the package to an existing empty directory. If flush is set, it flushes
// the copy to disk. If a file has changed, CopyTo returns an error and removes the
// package from the store. After an error, the directory can contain part of the
// package. The caller must then remove the directory.
func (t *Tree) CopyTo(ctx context.Context, dir string, flush bool) error {
	to, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer to.Close()
	err = atomicfile.CopyFiles(ctx, to, t.files, t.record.Files, flush)
	if errors.Is(err, atomicfile.ErrChanged) && ctx.Err() == nil {
		_ = t.Close()
		t.damaged(err)
	}
	return err
}

// Close releases the package. It can be called more than once.
func (t *Tree) Close() error {
	if t.files != nil {
		_ = t.files.Close()
	}
	return t.lock.Close()
}

// damaged removes the package from the store unless another process has already removed
// it.
func (t *Tree) damaged(why error) {
	if _, err := os.Lstat(t.dir); errors.Is(err, fs.ErrNotExist) {
		return
	}
	t.store.damaged(t.dir, why, func() error { return atomicfile.RemoveDir(t.dir) })
}
