//go:build !windows

package atomicfile

// CommitNewUnlinked is CommitNew as it goes on a file system without hard links.
func (f *File) CommitNewUnlinked() error { return f.commit(moveUnlinked) }

// NoHardLinks is the test of whether to go that way.
var NoHardLinks = noHardLinks
