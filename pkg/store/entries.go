package store

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/opencontainers/go-digest"
)

// The kinds of entries.
const (
	kindZip      = "zip"
	kindUnpacked = "unpacked"
	kindMirror   = "mirror"
)

// kindFolders maps kinds of entries to their directories.
var kindFolders = map[string]string{kindZip: nameBlobs, kindUnpacked: nameUnpacked, kindMirror: nameMirrors}

// Entry is a package or a mirror directory in a store.
type Entry struct {
	// Kind is "zip", "unpacked", or "mirror".
	Kind string
	// Digest is the digest of the zip, even if the package is unpacked. For a mirror,
	// it is the digest of its package list.
	Digest digest.Digest
	// Size is the total size of the files in bytes. Files that share blocks use less space.
	Size int64
	// Used is the time of last use.
	Used time.Time
}

// Entries returns the entries of the store without verifying them. The least recently
// used entry is first. A store that doesn't exist has no entries.
func (s *Store) Entries(ctx context.Context) ([]Entry, error) {
	var all []Entry
	for _, kind := range []string{kindZip, kindUnpacked, kindMirror} {
		names, err := os.ReadDir(s.folder(kindFolders[kind]))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
		for _, name := range names {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			if !isEntry(name.Name()) {
				continue
			}
			e := Entry{Kind: kind, Digest: digest.NewDigestFromEncoded(digest.SHA256, name.Name())}
			if e.Used, err = s.used(e); err == nil {
				e.Size, err = sizeBelow(s.path(e))
			}
			switch {
			case errors.Is(err, fs.ErrNotExist), isBusy(err): // another process has removed the entry
			case err != nil:
				return nil, err
			default:
				all = append(all, e)
			}
		}
	}
	slices.SortStableFunc(all, func(a, b Entry) int {
		return cmp.Or(a.Used.Compare(b.Used), cmp.Compare(a.Digest, b.Digest))
	})
	return all, nil
}

func (s *Store) path(e Entry) string {
	return filepath.Join(s.folder(kindFolders[e.Kind]), e.Digest.Encoded())
}

// used returns the modification time of an entry's record. If the entry has no record,
// used returns the modification time of the entry.
func (s *Store) used(e Entry) (time.Time, error) {
	record := filepath.Join(s.path(e), nameRecord)
	if e.Kind == kindZip {
		record = filepath.Join(s.folder(nameRecords), e.Digest.Encoded())
	}
	info, err := os.Lstat(record)
	if err != nil {
		info, err = os.Lstat(s.path(e))
	}
	if err != nil {
		return time.Time{}, err
	}
	return info.ModTime(), nil
}

// sizeBelow returns the total size of the files at and below a path.
func sizeBelow(path string) (size int64, err error) {
	err = filepath.WalkDir(path, func(_ string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return err
		}
		info, err := entry.Info()
		if err == nil {
			size += info.Size()
		}
		return err
	})
	return size, err
}
