package atomicfile

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"sync"

	"github.com/opencontainers/go-digest"

	"github.com/tofu-oci/tofu-oci/internal/bounded"
)

const (
	// maxSize limits the record's size in bytes. The limit allows about 500,000 files.
	// A larger record is ignored, and the next entry replaces it.
	maxSize = 64 << 20
	// minCompact is the minimum size in bytes of a record from which old lines are
	// removed.
	minCompact = 64 << 10
)

// Record is a file that lists the files whose content was correct when they were last
// read completely. A Record recognizes an unchanged file by its size, times, and inode.
// A program that modifies a file changes at least one of these values, unless it
// deliberately hides the change. Disks can also corrupt data, so important content is
// verified again when it is read. A Record is safe for concurrent use, even by several
// processes. Each call to Add appends a line. If a line is lost, the file that it
// describes is read again.
type Record struct {
	path string

	mu     sync.Mutex
	loaded bool
	seen   map[digest.Digest]Stamp
	// lines is the number of lines in the file, including outdated lines.
	lines int
}

// NewRecord returns the Record that a file stores. The file does not need to exist.
func NewRecord(path string) *Record { return &Record{path: path} }

// Has reports whether a file is unchanged since its content was verified against the
// given digest.
func (r *Record) Has(d digest.Digest, info fs.FileInfo) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.load()
	was, known := r.seen[d]
	return known && was == StampOf(info)
}

// Add records that a file's content has the given digest. Callers can ignore the error.
// It only means that the file will be read again.
func (r *Record) Add(d digest.Digest, info fs.FileInfo) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.load()
	s := StampOf(info)
	if r.seen[d] == s {
		return nil
	}
	r.seen[d] = s
	if r.lines*lineLength > minCompact && r.lines > 2*len(r.seen) {
		return r.rewrite()
	}
	r.lines++
	f, err := os.OpenFile(r.path, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o644)
	if err != nil {
		return err
	}
	_, err = f.Write(line(d, s)) // a single write prevents interleaved lines from concurrent processes
	if closeErr := f.Close(); err == nil {
		err = closeErr
	}
	return err
}

// lineLength is the approximate length of a line in bytes.
const lineLength = 128

func line(d digest.Digest, s Stamp) []byte { return fmt.Appendf(nil, "%s %s\n", d, s) }

// load reads the record once. It skips invalid lines.
func (r *Record) load() {
	if r.loaded {
		return
	}
	r.loaded, r.seen = true, map[digest.Digest]Stamp{}
	data, err := bounded.ReadFile(r.path, maxSize)
	if err != nil {
		return
	}
	for scanner := bufio.NewScanner(bytes.NewReader(data)); scanner.Scan(); {
		left, right, _ := strings.Cut(scanner.Text(), " ")
		s, err := ParseStamp(right)
		if d := digest.Digest(left); err == nil && d.Validate() == nil {
			r.seen[d] = s
		}
		r.lines++
	}
}

// rewrite removes outdated lines.
func (r *Record) rewrite() error {
	r.lines = len(r.seen)
	return Write(r.path, 0o644, func(w io.Writer) error {
		for d, s := range r.seen {
			if _, err := w.Write(line(d, s)); err != nil {
				return err
			}
		}
		return nil
	})
}
