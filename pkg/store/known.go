package store

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/opencontainers/go-digest"

	"github.com/tofu-oci/tofu-oci/internal/boundedfile"
	"github.com/tofu-oci/tofu-oci/internal/boundedjson"
)

const (
	// maxKnown is how many zips of one package are remembered, the latest ones:
	// there is one, but for packages that were built anew under their version.
	maxKnown = 16
	// maxKnownFile bounds the file of one package, in bytes.
	maxKnownFile = 16 << 10
)

// Known is a zip that was a package's when the store got it.
type Known struct {
	Zip digest.Digest `json:"zip"`
	Hashes
}

// Known gives the zips that were remembered under a package's name, latest first. The
// store need not have them any more.
func (s *Store) Known(name string) []Known {
	if s == nil {
		return nil
	}
	return readKnown(s.knownPath(name))
}

// Remember notes that a verified zip is a package, named by what identifies it to
// the caller. It saves asking a source which of many zips that is. That it may fail
// is no matter.
func (s *Store) Remember(name string, k Known) {
	if !s.keeps() || s.begin() != nil {
		return
	}
	path := s.knownPath(name)
	before := readKnown(path)
	all := slices.Insert(slices.DeleteFunc(slices.Clone(before), func(other Known) bool { return other.Zip == k.Zip }), 0, k)
	all = all[:min(len(all), maxKnown)]
	if text, err := json.Marshal(all); err == nil && !slices.Equal(all, before) {
		_ = s.write(path, text)
	}
}

func (s *Store) knownPath(name string) string {
	path, _ := s.place(nameKnown, digest.FromString(name))
	return path
}

func readKnown(path string) (all []Known) {
	text, err := boundedfile.Read(path, maxKnownFile)
	if err != nil || boundedjson.Unmarshal(text, &all, 8*maxKnown) != nil {
		return nil
	}
	return slices.DeleteFunc(all, func(k Known) bool { return k.Zip.Validate() != nil })
}

// dropKnown removes what is remembered of zips that are gone, both packed and
// unpacked.
func (s *Store) dropKnown() {
	names, _ := os.ReadDir(s.folder(nameKnown))
	for _, name := range names {
		path := filepath.Join(s.folder(nameKnown), name.Name())
		has := func(k Known) bool {
			for _, kind := range []string{nameBlobs, nameUnpacked} {
				at, ok := s.place(kind, k.Zip)
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
