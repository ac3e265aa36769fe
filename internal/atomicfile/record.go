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
	// maxSize bounds the record, in bytes: some 500,000 files. What is in a larger
	// one is not used, and the next entry begins a new one.
	maxSize = 64 << 20
	// minCompact is the size, in bytes, below which old lines are left alone.
	minCompact = 64 << 10
)

// Record remembers, in a file of its own, which files had the right content when they
// were last read whole. It identifies a file by its size, times, and inode. A program
// that changes a file changes at least one of these unless it wants to deceive, and
// disks decay, so content that matters is also verified while it is read. A Record is
// safe for concurrent use, also by several processes: lines are appended, and a lost
// line only means that a file is read again.
type Record struct {
	path string

	mu     sync.Mutex
	loaded bool
	seen   map[digest.Digest]Stamp
	// lines counts those in the file, old ones too.
	lines int
}

// NewRecord returns the record in a file, which need not exist.
func NewRecord(path string) *Record { return &Record{path: path} }

// Has reports whether a file with the content of a digest looks as it did when
// that was found out.
func (r *Record) Has(d digest.Digest, info fs.FileInfo) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.load()
	was, known := r.seen[d]
	return known && was == StampOf(info)
}

// Add notes that a file has the content of a digest. Its errors matter to nobody
// but the curious: the file will be read again.
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
	_, err = f.Write(line(d, s)) // one write, so that lines of other processes stay whole
	if closeErr := f.Close(); err == nil {
		err = closeErr
	}
	return err
}

// lineLength is about that of a line, in bytes.
const lineLength = 128

func line(d digest.Digest, s Stamp) []byte { return fmt.Appendf(nil, "%s %s\n", d, s) }

// load reads the record once. A line that makes no sense is left out.
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

// rewrite leaves old lines out.
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
