package packagezip

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/klauspost/compress/zip"
	"golang.org/x/mod/sumdb/dirhash"
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

// explain adds what the zip package leaves out: its word for a file that is
// longer than declared is that this is no valid zip file.
func explain(entry *zip.File, err error) error {
	switch {
	case err == nil || err == io.EOF:
		return err
	case errors.Is(err, zip.ErrFormat):
		return fmt.Errorf("the content is not what the zip directory declares (%d bytes): %w", entry.UncompressedSize64, err)
	}
	return fmt.Errorf("reading the content: %w", err)
}
