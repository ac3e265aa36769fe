package atomicfile

import (
	"io/fs"
	"os"
)

// CreateWith is Create with another way to open the temporary file.
func CreateWith(path string, open func(name string, mode fs.FileMode) (*os.File, error)) (*File, error) {
	return create(path, 0o644, open)
}

// CommitNewUnlinked is CommitNew as it goes on a file system without hard links.
func (f *File) CommitNewUnlinked() error { return f.commit(moveUnlinked) }

// NoHardLinks is the test of whether to go that way.
var NoHardLinks = noHardLinks

// StaleAfter is the age at which Sweep takes a temporary file.
const StaleAfter = staleAfter
