//go:build windows

package atomicfile

import "os"

// RenameWhile is how files and directories are renamed that others may have open.
func RenameWhile(from, to string, again func() bool) error {
	return renameWhile(from, to, os.Rename, again)
}

// CommitNewUnlinked is CommitNew, which makes no hard link on Windows.
func (f *File) CommitNewUnlinked() error { return f.CommitNew() }
