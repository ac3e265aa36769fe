//go:build windows

package atomicfile

import "os"

// RenameWhile exports the function that renames files that other processes can have
// open.
func RenameWhile(from, to string, again func() bool) error {
	return renameWhile(from, to, os.Rename, again)
}

// CommitNewUnlinked is CommitNew, which does not use hard links on Windows.
func (f *File) CommitNewUnlinked() error { return f.CommitNew() }
