//go:build windows

package atomicfile

import "os"

// RenameWhile exports the function that renames files that might be open in other
// processes.
func RenameWhile(from, to string, again func() bool) error {
	return renameWhile(from, to, os.Rename, again)
}

// RemoveWhile exports the function that removes files that might be open in other
// processes.
func RemoveWhile(path string, again func() bool) error { return removeWhile(path, again) }

// CommitNewUnlinked calls CommitNew, which does not use hard links on Windows.
func (f *File) CommitNewUnlinked() error { return f.CommitNew() }
