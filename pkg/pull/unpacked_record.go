package pull

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/opencontainers/go-digest"

	"github.com/tofu-oci/tofu-oci/internal/bounded"
	"github.com/tofu-oci/tofu-oci/pkg/sums"
)

const (
	// recordName is the name of the file that records the zips from which the packages
	// in the directory were unpacked. It contains the digest of each zip and the h1:
	// hash of its unpacked directory. The file is as trustworthy as the packages,
	// because anyone who can write the packages can also write the file. OpenTofu
	// ignores files in this directory.
	recordName = ".tofu-oci.unpacked"
	// maxRecord is the maximum size of the record in bytes. It is sufficient for about
	// 100,000 packages.
	maxRecord = 16 << 20
)

// unpackedRecord maps digests of zips to h1: hashes of unpacked directories. Entries
// never become outdated, because the digest and the hash depend only on the content.
type unpackedRecord struct {
	path string

	mu    sync.Mutex
	known map[digest.Digest]string
}

func newUnpackedRecord(dir string) *unpackedRecord {
	return &unpackedRecord{path: filepath.Join(dir, recordName)}
}

// of returns the h1: hash of the directory with the contents of a zip, or "" if the
// hash is unknown.
func (r *unpackedRecord) of(zip digest.Digest) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.load()
	return r.known[zip]
}

// add records a zip. It ignores errors, because a missing record only causes the zip to
// be read again.
func (r *unpackedRecord) add(zip digest.Digest, h1 string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.load()
	if r.known[zip] == h1 {
		return
	}
	r.known[zip] = h1
	f, err := os.OpenFile(r.path, os.O_WRONLY|os.O_APPEND|os.O_CREATE, modeZip)
	if err != nil {
		return
	}
	_, _ = fmt.Fprintf(f, "%s %s\n", zip, h1) // use a single write, so that lines of concurrent processes don't mix
	_ = f.Close()
}

// load reads the record once. It ignores invalid and contradictory lines.
func (r *unpackedRecord) load() {
	if r.known != nil {
		return
	}
	r.known = map[digest.Digest]string{}
	data, err := bounded.ReadFile(r.path, maxRecord)
	if err != nil {
		return
	}
	for text := range bytes.Lines(data) {
		left, right, _ := strings.Cut(strings.TrimSpace(string(text)), " ")
		h1, err := sums.ParseH1(right)
		zip := digest.Digest(left)
		if err != nil || zip.Validate() != nil {
			continue
		}
		if other, twice := r.known[zip]; twice && other != h1 {
			h1 = "contradictory"
		}
		r.known[zip] = h1
	}
}
