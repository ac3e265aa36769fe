//go:build !windows

package atomicfile

// CommitNewUnlinked is like CommitNew on a file system without hard links.
func (f *File) CommitNewUnlinked() error { return f.commit(moveUnlinked) }

// NoHardLinks exports noHardLinks.
var NoHardLinks = noHardLinks
