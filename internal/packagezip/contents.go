package packagezip

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/tofu-oci/tofu-oci/internal/transfer"
	"github.com/tofu-oci/tofu-oci/pkg/sums"
)

// Contents contains an archive's hashes and file names.
type Contents struct {
	// H1 is the "h1:…" hash of the archive, as in lock files.
	H1 string
	// H1Unpacked is the h1 hash of the unpacked directory. It differs from H1 if the
	// archive has entries for directories. An archive's h1 hash includes such entries,
	// but a directory's h1 hash includes only files.
	H1Unpacked string
	// Files contains the sorted names of the files.
	Files []string
	// Directories reports whether the archive has entries for directories, so that
	// H1Unpacked differs from H1.
	Directories bool
	// Modes contains the Unix modes of the files at the top level. Files without a Unix
	// mode are omitted.
	Modes map[string]fs.FileMode
	// BuildInfo is the Go build information that [WithBuildInfo] requests. If the
	// executable has none, BuildInfo is nil.
	BuildInfo *debug.BuildInfo
}

// VerifyH1 verifies an unsigned h1 hash. If stated is not empty and differs from H1 and
// H1Unpacked, VerifyH1 returns a *[sums.MismatchError] that contains name.
func (c Contents) VerifyH1(name, stated string) error {
	if stated != "" && stated != c.H1 && stated != c.H1Unpacked {
		return &sums.MismatchError{Name: name, Got: c.H1, Want: stated}
	}
	return nil
}

// HashStream hashes an archive in one pass. It reads src to its end in a separate
// goroutine, which has exited when HashStream returns. Therefore, Read calls on src
// must return when ctx is canceled.
//
// The contents are trustworthy only after src has returned io.EOF, so src should verify
// a digest. HashStream returns errors from src unchanged. Errors about the archive wrap
// [ErrArchive]. A *[NotStreamableError] means that the archive must be read with
// [Open].
func HashStream(ctx context.Context, src io.Reader, options ...HashOption) (Contents, error) {
	ahead := transfer.ReadAhead(src)
	defer ahead.Close()
	return hashStream(ctx, ahead, usualLimits(), options...)
}

func hashStream(ctx context.Context, src io.Reader, limits limits, options ...HashOption) (Contents, error) {
	return consume(ctx, newHasher(options), func(visit visitor) ([]entry, error) {
		return walkStream(ctx, src, limits, visit)
	})
}

// hasher is a sink that stores each entry's hash.
type hasher struct {
	hash    hash.Hash
	hashed  []hashed
	entries []entry
	// scan finds the build information. If nil, no file is scanned.
	scan *buildInfoScan
}

func newHasher(options []HashOption) *hasher {
	h := &hasher{}
	for _, option := range options {
		option(h)
	}
	return h
}

type hashed struct {
	name string
	sum  [sha256.Size]byte
}

func (h *hasher) begin(name string) error {
	if h.scan != nil {
		h.scan.begin(name)
	}
	if h.hash == nil {
		h.hash = sha256.New()
	}
	h.hash.Reset()
	return nil
}

func (h *hasher) write(p []byte) error {
	if h.scan != nil {
		h.scan.write(p)
	}
	_, err := h.hash.Write(p)
	return err
}

func (h *hasher) end(name string) error {
	done := hashed{name: name}
	h.hash.Sum(done.sum[:0])
	h.hashed = append(h.hashed, done)
	return nil
}

func (h *hasher) finish(_ context.Context, entries []entry) error {
	h.entries = entries
	return nil
}

// contents computes the archive's hashes from the entries' hashes.
func (h *hasher) contents() Contents {
	slices.SortFunc(h.hashed, func(a, b hashed) int { return cmp.Compare(a.name, b.name) })
	archive, directory := sha256.New(), sha256.New()
	c := listed(h.entries)
	for _, done := range h.hashed {
		// The line has the format of dirhash.Hash1, a function that requires access to
		// the files.
		line := fmt.Appendf(nil, "%x  %s\n", done.sum, done.name)
		archive.Write(line)
		if !strings.HasSuffix(done.name, "/") {
			directory.Write(line)
		}
	}
	c.H1, c.H1Unpacked = h1(archive), h1(directory)
	if h.scan != nil {
		c.BuildInfo = h.scan.found
	}
	return c
}

// listed returns the contents according to the central directory, without hashes.
func listed(entries []entry) Contents {
	c := Contents{Modes: map[string]fs.FileMode{}}
	for _, e := range entries {
		if e.isDirectory() {
			c.Directories = true
			continue
		}
		c.Files = append(c.Files, e.name)
		if hasUnixMode(e.madeBy, e.attributes) && !strings.Contains(e.name, "/") {
			c.Modes[e.name] = e.mode().Perm()
		}
	}
	slices.Sort(c.Files)
	return c
}

// H1Hashes returns H1 and, if it differs, H1Unpacked.
func (c Contents) H1Hashes() []string {
	return slices.Compact([]string{c.H1, c.H1Unpacked})
}

func h1(h hash.Hash) string {
	return "h1:" + base64.StdEncoding.EncodeToString(h.Sum(nil))
}
