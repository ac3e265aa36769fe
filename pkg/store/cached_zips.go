package store

import (
	"bytes"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/opencontainers/go-digest"

	"github.com/tofu-oci/tofu-oci/internal/bounded"
)

const (
	// maxCachedZips is the maximum number of zips that are recorded per package. If this
	// number is exceeded, the oldest records are removed. A package has one zip, unless
	// it was rebuilt with the same version.
	maxCachedZips = 16
	// maxCachedZipsBytes limits the size of one package's file, in bytes. The metadata of one
	// zip is about 10 KiB in size. To meet the limit, the oldest zips are removed from
	// the file.
	maxCachedZipsBytes = 1 << 20
	// maxCachedZipsValues limits the number of JSON values in the file.
	maxCachedZipsValues = 256 * maxCachedZips
)

// CachedZip is a zip that is known to belong to a certain package.
type CachedZip struct {
	Zip digest.Digest `json:"zip"`
	Hashes
	// VerificationMetadata is verification metadata for the release in the caller's
	// format. It is nil if no metadata was recorded.
	VerificationMetadata json.RawMessage `json:"verification_metadata,omitempty"`
}

// CachedZips returns the zips that were recorded for a package. The most recently recorded
// zip is first. Some of the zips might have been deleted from the store.
func (s *Store) CachedZips(name string) []CachedZip {
	if s == nil {
		return nil
	}
	return readCachedZips(s.cachedZipsPath(name))
}

// RecordZip records that a verified zip belongs to the package that the caller
// identifies by name. The caller then doesn't need to request this information from a
// source again. Errors are ignored.
func (s *Store) RecordZip(name string, k CachedZip) {
	if !s.isWritable() || s.initialize() != nil {
		return
	}
	path := s.cachedZipsPath(name)
	all := slices.DeleteFunc(readCachedZips(path), func(other CachedZip) bool { return other.Zip == k.Zip })
	all = slices.Insert(all, 0, k)
	for n := min(len(all), maxCachedZips); n > 0; n-- {
		text, err := json.Marshal(all[:n])
		if err != nil {
			return
		}
		if len(text) > maxCachedZipsBytes {
			continue
		}
		if before, err := bounded.ReadFile(path, maxCachedZipsBytes); err != nil || !bytes.Equal(text, before) {
			_ = s.write(path, text)
		}
		return
	}
}

func (s *Store) cachedZipsPath(name string) string {
	path, _ := s.entryPath(nameKnown, digest.FromString(name))
	return path
}

func readCachedZips(path string) (all []CachedZip) {
	text, err := bounded.ReadFile(path, maxCachedZipsBytes)
	if err != nil || bounded.DecodeJSON(text, &all, maxCachedZipsValues) != nil {
		return nil
	}
	return slices.DeleteFunc(all, func(k CachedZip) bool { return k.Zip.Validate() != nil })
}

// pruneKnown removes the records of packages whose zips are neither stored nor unpacked.
func (s *Store) pruneKnown() {
	names, _ := os.ReadDir(s.folder(nameKnown))
	for _, name := range names {
		path := filepath.Join(s.folder(nameKnown), name.Name())
		has := func(k CachedZip) bool {
			for _, kind := range []string{nameBlobs, nameUnpacked} {
				at, ok := s.entryPath(kind, k.Zip)
				if _, err := os.Lstat(at); ok && !errors.Is(err, fs.ErrNotExist) {
					return true
				}
			}
			return false
		}
		if isEntry(name.Name()) && !slices.ContainsFunc(readCachedZips(path), has) {
			_ = os.Remove(path)
		}
	}
}
