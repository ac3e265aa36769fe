package packagezip

import (
	"context"
	"io"
)

// HashLimited is [HashStream] with small limits.
func HashLimited(ctx context.Context, src io.Reader, entries int, contents uint64, archive int64) (Contents, error) {
	return hashStream(ctx, src, limits{entries: entries, contents: contents, archive: archive})
}

// OpenLimited is [Open] with small limits.
func OpenLimited(src io.ReaderAt, size int64, entries int, contents uint64, archive int64) (*Reader, error) {
	return openLimited(src, size, limits{entries: entries, contents: contents, archive: archive})
}
