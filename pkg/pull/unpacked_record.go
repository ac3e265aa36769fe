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
	// recordName is the file of a directory of unpacked packages that says what the
	// zips unpack to from which they came: their digests and the directories' h1.
	// It can be trusted as far as the packages beside it: whoever may write one
	// may write the other. OpenTofu looks at directories only.
	recordName = ".tofu-oci.unpacked"
	// maxRecord bounds it, in bytes: some hundred thousand packages.
	maxRecord = 16 << 20
)

// unpackedRecord is what this program found out when it unpacked zips: that of a
// digest unpacks to a directory of an h1. Both are facts of the content, so a
// line never gets old.
type unpackedRecord struct {
	path string

	mu    sync.Mutex
	known map[digest.Digest]string
}

func newUnpackedRecord(dir string) *unpackedRecord {
	return &unpackedRecord{path: filepath.Join(dir, recordName)}
}

// of returns the h1 of the directory that a zip unpacks to, empty when it is not
// known.
func (r *unpackedRecord) of(zip digest.Digest) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.load()
	return r.known[zip]
}

// add notes what a zip unpacked to. That this may fail is no matter: the zip is
// read once more then.
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
	_, _ = fmt.Fprintf(f, "%s %s\n", zip, h1) // one write, so that lines of other processes stay whole
	_ = f.Close()
}

// load reads the record once. Lines that make no sense are left out, and so are
// both of two that contradict each other.
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
