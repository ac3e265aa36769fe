package atomicfile

import (
	"os"
	"path/filepath"
)

// TempDir makes an empty directory in parent, for [CommitDir] to name later.
// Parent directories are made as needed. [DiscardDir] removes it when nothing
// comes of it.
func TempDir(parent string) (string, error) {
	if err := os.MkdirAll(parent, directoryMode); err != nil {
		return "", err
	}
	dir := temporaryName(parent)
	if err := os.Mkdir(dir, directoryMode); err != nil {
		return "", err
	}
	return dir, nil
}

// CommitDir renames dir to final, a name in the same file system that must be
// free: else the error is [fs.ErrExist] and nothing has changed. The files in dir
// have to be on the disk by then; their names are brought there here.
func CommitDir(dir, final string) error {
	if err := syncTree(dir); err != nil {
		return err
	}
	// os.Rename promises to refuse a directory that is there, and not a file.
	if err := checkFree(final); err != nil {
		return err
	}
	if err := rename(dir, final); err != nil {
		// Another process was faster. Each system has its own word for that:
		// ENOTEMPTY, ENOTDIR, "access is denied".
		if taken := checkFree(final); taken != nil {
			return taken
		}
		return err
	}
	return syncDirectory(filepath.Dir(final))
}

// RemoveDir removes a directory and all below it. First it takes its name away, so
// that nobody finds it half-removed there.
func RemoveDir(dir string) error {
	tmp := temporaryName(filepath.Dir(dir))
	if err := rename(dir, tmp); err != nil {
		return err
	}
	return remove(tmp)
}

// DiscardDir removes a directory of [TempDir], unless [CommitDir] has named it. What it
// cannot remove, a later [Sweep] can.
func DiscardDir(dir string) { _ = remove(dir) }

// syncTree flushes every directory from dir down.
func syncTree(dir string) error {
	return filepath.WalkDir(dir, func(path string, entry os.DirEntry, err error) error {
		if err != nil || !entry.IsDir() {
			return err
		}
		return syncDirectory(path)
	})
}
