package atomicfile

import (
	"os"
	"path/filepath"
)

// TempDir creates an empty directory in parent. It also creates missing parent
// directories. Later, [CommitDir] renames the directory, or [DiscardDir] removes it.
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

// CommitDir renames dir to final, which must be on the same file system. If final
// exists, CommitDir changes nothing and returns [fs.ErrExist]. The caller must have
// synced the files in dir. CommitDir syncs the directories.
func CommitDir(dir, final string) error {
	if err := syncTree(dir); err != nil {
		return err
	}
	// os.Rename fails for an existing directory, but not for an existing file.
	if err := checkFree(final); err != nil {
		return err
	}
	if err := rename(dir, final); err != nil {
		// Another process created final first. The error depends on the system:
		// ENOTEMPTY, ENOTDIR, or "access is denied".
		if taken := checkFree(final); taken != nil {
			return taken
		}
		return err
	}
	return syncDirectory(filepath.Dir(final))
}

// RemoveDir removes a directory and its contents. It first renames the directory, so
// that other processes never see a partially removed directory.
func RemoveDir(dir string) error {
	tmp := temporaryName(filepath.Dir(dir))
	if err := rename(dir, tmp); err != nil {
		return err
	}
	return remove(tmp)
}

// DiscardDir removes a directory that [TempDir] created. If [CommitDir] has renamed the
// directory, DiscardDir does nothing. If it fails, a later [Sweep] removes the
// directory.
func DiscardDir(dir string) { _ = remove(dir) }

// syncTree syncs dir and all directories below it.
func syncTree(dir string) error {
	return filepath.WalkDir(dir, func(path string, entry os.DirEntry, err error) error {
		if err != nil || !entry.IsDir() {
			return err
		}
		return syncDirectory(path)
	})
}
