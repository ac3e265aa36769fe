package packagezip

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/klauspost/compress/flate"
	"github.com/klauspost/compress/zip"
	"golang.org/x/mod/sumdb/dirhash"

	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// H1Unpacked computes the "h1:…" hash that the directory will have which
// [Reader.Unpack] fills. It differs from [Reader.H1] when the archive lists
// directories: those count as files in an archive and not at all in a directory.
func (r *Reader) H1Unpacked(ctx context.Context) (string, error) {
	if len(r.directories) == 0 {
		return r.H1(ctx)
	}
	names := make([]string, len(r.files))
	byName := make(map[string]*zip.File, len(r.files))
	for i, file := range r.files {
		names[i] = file.Name
		byName[file.Name] = file
	}
	h1, err := dirhash.Hash1(names, func(name string) (io.ReadCloser, error) {
		return open(ctx, byName[name])
	})
	if err != nil {
		return "", fmt.Errorf("hashing zip contents: %w", err)
	}
	return h1, nil
}

// open gives a file's content. The zip package ends it with an error when it
// is longer or shorter than declared or its CRC-32 differs, and the declared
// sizes are bounded by [Open], so nothing more has to be counted here.
func open(ctx context.Context, entry *zip.File) (io.ReadCloser, error) {
	rc, err := entry.Open()
	if err != nil {
		return nil, explain(entry, err)
	}
	return &content{Closer: rc, read: func(p []byte) (int, error) {
		if err := ctx.Err(); err != nil {
			return 0, err
		}
		n, err := rc.Read(p)
		return n, explain(entry, err)
	}}, nil
}

// content is a file of the archive while it is read.
type content struct {
	io.Closer
	read func(p []byte) (int, error)
}

func (c *content) Read(p []byte) (int, error) { return c.read(p) }

// explain makes what is wrong with a file's content a *[provider.ArchiveError]: the
// archive was read whole before, so that no connection can be the reason, and its
// bytes will be the same the next time.
func explain(entry *zip.File, err error) error {
	var problem string
	switch {
	case err == nil || err == io.EOF:
		return err
	case errors.Is(err, zip.ErrFormat):
		problem = fmt.Sprintf("has other content than the zip directory declares (%d bytes)", entry.UncompressedSize64)
	case errors.Is(err, io.ErrUnexpectedEOF):
		problem = "has content that ends too early"
	case errors.Is(err, zip.ErrChecksum):
		problem = "has content with another CRC-32 than the zip directory declares"
	case isCorrupt(err):
		problem = "has content that cannot be inflated: " + err.Error()
	default:
		return fmt.Errorf("reading the content: %w", err)
	}
	return &provider.ArchiveError{Name: entry.Name, Problem: problem}
}

// isCorrupt knows a damaged stream of compressed bytes.
func isCorrupt(err error) bool {
	_, corrupt := errors.AsType[flate.CorruptInputError](err)
	return corrupt
}
