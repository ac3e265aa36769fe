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
	// maxRecord bounds a record, in bytes, and maxRecordValues the values in it: those of
	// a package with 100,000 files, the most that packagezip accepts.
	maxRecord       = 64 << 20
	maxRecordValues = 800_000
)

// Hashes are what is known of a package's contents.
type Hashes struct {
	// H1 is the zip's "h1:…" hash, as lock files and origins state it.
	H1 string `json:"h1"`
	// Unpacked is that of the directory. It is another one when the zip lists
	// directories.
	Unpacked string `json:"h1_unpacked"`
}

// treeRecord is the record of an unpacked package.
type treeRecord struct {
	Hashes
	Files []atomicfile.Entry `json:"files"`
}

// Tree is a stored package, unpacked, that was found to be right. It has to be
// closed; until then it is not pruned.
type Tree struct {
	store  *Store
	dir    string
	lock   *flock.Flock
	files  *os.Root
	record treeRecord
}

// Tree opens what the zip of a digest unpacks to; ok is false where the store does
// not have that. A package whose files look as they did when they were right is
// trusted. Any other is hashed; one that is damaged, or where a file is missing
// or was added, is removed.
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
	// Who holds it removes the package. Where there are no locks, copying may meet
	// a file that is gone, which is seen.
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
		return errors.New("its directory of files is missing")
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
			// Where it can't be written the files are hashed again the next time.
			_ = t.store.write(record, text)
		}
	}
	touch(record)
	return nil
}

func readRecord(path string) (r treeRecord, err error) {
	text, err := bounded.ReadFile(path, maxRecord)
	if err != nil {
		return r, fmt.Errorf("reading its record: %w", err)
	}
	if err := bounded.DecodeJSON(text, &r, maxRecordValues); err != nil {
		return r, fmt.Errorf("reading its record: %w", err)
	}
	if slices.ContainsFunc(r.Files, func(f atomicfile.Entry) bool { return f.Name == "" }) {
		return r, errors.New("reading its record: a file has no name")
	}
	return r, nil
}

// hash reads all files, which must not change meanwhile, and have the modes and
// names of the record.
func (t *Tree) hash(now []atomicfile.Entry) error {
	form := func(a, b atomicfile.Entry) bool { return a.Name == b.Name && a.Executable == b.Executable }
	if !slices.EqualFunc(now, t.record.Files, form) {
		return errors.New("a file is missing, was added, or has another mode")
	}
	h1, err := sums.H1Dir(filepath.Join(t.dir, nameFiles))
	if err != nil {
		return err
	}
	if h1 != t.record.Unpacked {
		return &sums.MismatchError{Name: t.dir, Got: h1, Want: t.record.Unpacked}
	}
	if after, err := atomicfile.ListFiles(t.files); err != nil || !slices.Equal(after, now) {
		return errors.New("it changed while it was read")
	}
	return nil
}

// Hashes are those of the package.
func (t *Tree) Hashes() Hashes { return t.record.Hashes }

// CopyTo copies the package into an existing empty directory, and brings it to the
// disk. A file that is not what it was any more is an error, upon which the package
// is removed from the store. After an error the directory holds a part of the
// package and is the caller's to empty.
func (t *Tree) CopyTo(ctx context.Context, dir string) error {
	to, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer to.Close()
	err = atomicfile.CopyFiles(ctx, to, t.files, t.record.Files)
	if errors.Is(err, atomicfile.ErrChanged) && ctx.Err() == nil {
		_ = t.Close()
		t.damaged(err)
	}
	return err
}

// Close lets the package go. More calls do nothing.
func (t *Tree) Close() error {
	if t.files != nil {
		_ = t.files.Close()
	}
	return t.lock.Close()
}

// damaged removes the package from the store, whoever copies it. One that another
// process removed meanwhile has nothing wrong with it.
func (t *Tree) damaged(why error) {
	if _, err := os.Lstat(t.dir); errors.Is(err, fs.ErrNotExist) {
		return
	}
	t.store.damaged(t.dir, why, func() error { return atomicfile.RemoveDir(t.dir) })
}
