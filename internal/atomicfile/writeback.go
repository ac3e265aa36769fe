package atomicfile

import "os"

// writeback is after how many bytes of a file the disk is set to work: the rest
// of a large file is still to arrive then.
const writeback = 8 << 20

// Writeback has the disk begin to write a file while it grows, so that the fsync
// at its end has little to wait for. The zero value is for an empty file; it is
// a hint, and does something on Linux only.
type Writeback struct {
	written, begun int64
}

// Wrote is told that n bytes were appended to the file.
func (w *Writeback) Wrote(f *os.File, n int) {
	if w.written += int64(n); w.written-w.begun >= writeback {
		begin(f, w.begun, w.written-w.begun)
		w.begun = w.written
	}
}
