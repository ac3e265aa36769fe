package packagezip

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"hash"
	"io"
	"slices"
	"strings"

	"github.com/tofu-oci/tofu-oci/internal/transfer"
	"github.com/tofu-oci/tofu-oci/pkg/sums"
)

// Contents is what an archive holds, as far as hashes and names tell.
type Contents struct {
	// H1 is the archive's "h1:…" hash, as lock files and origins state it.
	H1 string
	// H1Unpacked is that of the directory which the archive unpacks to. It differs
	// from H1 when the archive lists directories: those count as files in an
	// archive and not at all in a directory.
	H1Unpacked string
	// Files are the names of the files, sorted.
	Files []string
}

// VerifyH1 holds what somebody states of an archive's h1, which nobody signs,
// against what it is; empty states nothing. The name is for the error, a
// *[sums.MismatchError].
func (c Contents) VerifyH1(name, stated string) error {
	if stated != "" && stated != c.H1 {
		return &sums.MismatchError{Name: name, Got: c.H1, Want: stated}
	}
	return nil
}

// HashStream reads an archive once, from front to back, and hashes what it
// holds. It reads src to its end in a goroutine of its own, which has ended when
// HashStream returns, so a Read of src has to end with ctx.
//
// Nothing is known of the archive before src has ended well: it is best a reader
// that verifies a digest. The error is src's own where src failed, otherwise one
// that joins a [ErrArchive] or more, or a *[NotStreamableError], upon which [Open]
// has to read the archive from something that allows random access.
func HashStream(ctx context.Context, src io.Reader) (Contents, error) {
	ahead := transfer.ReadAhead(src)
	defer ahead.Close()
	return hashStream(ctx, ahead, usualLimits())
}

func hashStream(ctx context.Context, src io.Reader, limits limits) (Contents, error) {
	return consume(ctx, &hasher{}, func(visit visitor) ([]entry, error) {
		return walkStream(ctx, src, limits, visit)
	})
}

// hasher is a sink that keeps the hash of each entry.
type hasher struct {
	hash   hash.Hash
	hashed []hashed
}

type hashed struct {
	name string
	sum  [sha256.Size]byte
}

func (h *hasher) begin(string) error {
	if h.hash == nil {
		h.hash = sha256.New()
	}
	h.hash.Reset()
	return nil
}

func (h *hasher) write(p []byte) error {
	_, err := h.hash.Write(p)
	return err
}

func (h *hasher) end(name string) error {
	done := hashed{name: name}
	h.hash.Sum(done.sum[:0])
	h.hashed = append(h.hashed, done)
	return nil
}

func (h *hasher) finish(context.Context, []entry) error { return nil }

// contents makes the hashes out of those of the entries.
func (h *hasher) contents() Contents {
	slices.SortFunc(h.hashed, func(a, b hashed) int { return cmp.Compare(a.name, b.name) })
	archive, directory := sha256.New(), sha256.New()
	var c Contents
	for _, done := range h.hashed {
		// The lines are those of dirhash.Hash1, which wants to open the files itself.
		line := fmt.Appendf(nil, "%x  %s\n", done.sum, done.name)
		archive.Write(line)
		if !strings.HasSuffix(done.name, "/") {
			directory.Write(line)
			c.Files = append(c.Files, done.name)
		}
	}
	c.H1, c.H1Unpacked = h1(archive), h1(directory)
	return c
}

func h1(h hash.Hash) string {
	return "h1:" + base64.StdEncoding.EncodeToString(h.Sum(nil))
}
