package atomicfile

import "os"

// writeback is the size, in bytes, of the pieces that are written to the disk while the
// rest of a large file is still arriving.
const writeback = 8 << 20

// Writeback starts writing a growing file to the disk, so that the final fsync is fast.
// The zero value is ready to use with an empty file. Writeback has an effect only on
// Linux.
type Writeback struct {
	written, begun int64
}

// Wrote records that n bytes were appended to the file.
func (w *Writeback) Wrote(f *os.File, n int) {
	if w.written += int64(n); w.written-w.begun >= writeback {
		begin(f, w.begun, w.written-w.begun)
		w.begun = w.written
	}
}
