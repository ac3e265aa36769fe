package packagezip

import (
	"context"
	"io"
	"runtime/debug"
)

// HashLimited is [HashStream] with small limits.
func HashLimited(ctx context.Context, src io.Reader, entries int, contents uint64, archive int64) (Contents, error) {
	return hashStream(ctx, src, limits{entries: entries, contents: contents, archive: archive})
}

// OpenLimited is [Open] with small limits.
func OpenLimited(src io.ReaderAt, size int64, entries int, contents uint64, archive int64) (*Reader, error) {
	return openLimited(src, size, limits{entries: entries, contents: contents, archive: archive})
}

// ScanBuildInfo finds the build information in a file that is written in several parts.
func ScanBuildInfo(file []byte, sizes ...int) *debug.BuildInfo {
	info, _ := CountBuildInfo(file, sizes...)
	return info
}

// CountBuildInfo is like [ScanBuildInfo], but also returns how many bytes it checked. A
// byte that is checked n times counts n times.
func CountBuildInfo(file []byte, sizes ...int) (info *debug.BuildInfo, checked uint64) {
	s := &buildInfoScan{typ: "x"}
	s.begin("terraform-provider-x")
	for _, size := range sizes {
		size = min(size, len(file))
		s.write(file[:size])
		file = file[size:]
	}
	s.write(file)
	return s.found, s.checked
}
