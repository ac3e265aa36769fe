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
	// maxKnown is the maximum number of zips that are recorded per package. If this
	// number is exceeded, the oldest records are removed. A package has one zip, unless
	// it was rebuilt with the same version.
	maxKnown = 16
	// maxKnownFile limits the size of one package's file, in bytes. The metadata of one
	// zip is about 10 KiB in size. To meet the limit, the oldest zips are removed from
	// the file.
	maxKnownFile = 1 << 20
	// maxKnownValues limits the number of JSON values in the file.
	maxKnownValues = 256 * maxKnown
)

// Known is a zip that is known to belong to a certain package.
type Known struct {
	Zip digest.Digest `json:"zip"`
	Hashes
	// Evidence is verification metadata for the release in the caller's format. It is
	// nil if no metadata was recorded.
	Evidence json.RawMessage `json:"evidence,omitempty"`
}

// Known returns the zips that were recorded for a package. The most recently recorded
// zip is first. Some of the zips might have been deleted from the store.
func (s *Store) Known(name string) []Known {
	if s == nil {
		return nil
	}
	return readKnown(s.knownPath(name))
}

// Remember records that a verified zip belongs to the package that the caller
// identifies by name. The caller then doesn't need to request this information from a
// source again. Errors are ignored.
func (s *Store) Remember(name string, k Known) {
	if !s.isWritable() || s.initialize() != nil {
		return
	}
	path := s.knownPath(name)
	all := slices.DeleteFunc(readKnown(path), func(other Known) bool { return other.Zip == k.Zip })
	all = slices.Insert(all, 0, k)
	for n := min(len(all), maxKnown); n > 0; n-- {
		text, err := json.Marshal(all[:n])
		if err != nil {
			return
		}
		if len(text) > maxKnownFile {
			continue
		}
		if before, err := bounded.ReadFile(path, maxKnownFile); err != nil || !bytes.Equal(text, before) {
			_ = s.write(path, text)
		}
		return
	}
}

func (s *Store) knownPath(name string) string {
	path, _ := s.entryPath(nameKnown, digest.FromString(name))
	return path
}

func readKnown(path string) (all []Known) {
	text, err := bounded.ReadFile(path, maxKnownFile)
	if err != nil || bounded.DecodeJSON(text, &all, maxKnownValues) != nil {
		return nil
	}
	return slices.DeleteFunc(all, func(k Known) bool { return k.Zip.Validate() != nil })
}

// pruneKnown removes the records of packages whose zips are neither stored nor unpacked.
func (s *Store) pruneKnown() {
	names, _ := os.ReadDir(s.folder(nameKnown))
	for _, name := range names {
		path := filepath.Join(s.folder(nameKnown), name.Name())
		has := func(k Known) bool {
			for _, kind := range []string{nameBlobs, nameUnpacked} {
				at, ok := s.entryPath(kind, k.Zip)
				if _, err := os.Lstat(at); ok && !errors.Is(err, fs.ErrNotExist) {
					return true
				}
			}
			return false
		}
		if isEntry(name.Name()) && !slices.ContainsFunc(readKnown(path), has) {
			_ = os.Remove(path)
		}
	}
}
