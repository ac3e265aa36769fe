package atomicfile

import (
	"crypto/rand"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// reflink replaces dst with a clone of src, because clonefile(2) can only create new
// files. The clone initially has the mode of src, so reflink sets the mode of dst.
func reflink(root *os.Root, name string, dst, src *os.File) (*os.File, error) {
	info, err := dst.Stat()
	if err != nil {
		return nil, err
	}
	dir, err := root.Open(filepath.Dir(name))
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	other := ".tofu-oci-" + rand.Text() + ".tmp" // a name that Sweep recognizes
	if err := unix.Fclonefileat(int(src.Fd()), int(dir.Fd()), other, unix.CLONE_NOOWNERCOPY); err != nil {
		return nil, err
	}
	other = filepath.Join(filepath.Dir(name), other)
	shared, err := settle(root, other, info.Mode().Perm())
	if err == nil {
		err = root.Rename(other, name)
	}
	if err != nil {
		if shared != nil {
			_ = shared.Close()
		}
		_ = root.Remove(other)
		return nil, err
	}
	_ = dst.Close()
	return shared, nil
}

func settle(root *os.Root, name string, mode os.FileMode) (*os.File, error) {
	if err := root.Chmod(name, mode|0o200); err != nil {
		return nil, err
	}
	f, err := root.OpenFile(name, os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	return f, f.Chmod(mode)
}
