package git

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/tofu-oci/tofu-oci/internal/atomicfile"
)

// LFSPrefix is the start of every LFS pointer. See
// https://github.com/git-lfs/git-lfs/blob/main/docs/spec.md.
const LFSPrefix = "version https://git-lfs.github.com/spec/"

// blobs is a temporary file with the contents of a tree. It maps object IDs to offsets
// in the file.
type blobs struct {
	file    *atomicfile.ScratchFile
	offsets map[string]int64
}

// readBlobs reads the contents of a tree with one git process.
func (r repository) readBlobs(ctx context.Context, t tree) (b blobs, err error) {
	sizes := map[string]int64{}
	for _, e := range t {
		if e.mode != modeTree && e.mode != modeSubmodule {
			sizes[e.id] = e.size
		}
	}
	ids := slices.Sorted(maps.Keys(sizes))
	if b.file, err = atomicfile.NewScratchFile("", -1); err != nil {
		return b, err
	}
	b.offsets = map[string]int64{}
	var offset int64
	return b, r.read(ctx, []byte(strings.Join(ids, "\n")+"\n"), func(from *bufio.Reader) error {
		for _, id := range ids {
			header, err := from.ReadString('\n')
			if err != nil {
				return err
			}
			if want := fmt.Sprintf("%s blob %d\n", id, sizes[id]); header != want {
				return fmt.Errorf("git cat-file: unexpected header %q, want %q", header, want)
			}
			if _, err := io.CopyN(b.file, from, sizes[id]); err != nil {
				return err
			}
			if _, err := from.Discard(1); err != nil { // the newline after the content
				return err
			}
			b.offsets[id] = offset
			offset += sizes[id]
		}
		return nil
	}, "cat-file", "--batch")
}

// open returns a reader for a file's content.
func (b blobs) open(e entry) *io.SectionReader {
	return io.NewSectionReader(b.file, b.offsets[e.id], e.size)
}

// startsWith reports whether a file starts with the given text.
func (b blobs) startsWith(e entry, text string) bool {
	start := make([]byte, len(text))
	_, err := io.ReadFull(b.open(e), start)
	return err == nil && string(start) == text
}
