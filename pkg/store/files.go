package store

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"

	"golang.org/x/sync/errgroup"

	"github.com/tofu-oci/tofu-oci/internal/atomicfile"
)

// atOnce is how many files of a package are copied at the same time: a disk does
// better with several small ones.
const atOnce = 8

// listed is a file or directory of a package, as it looks.
type listed struct {
	// Name is relative and has slashes; that of a directory ends in one.
	Name string `json:"name"`
	// Stamp is the zero value for a directory.
	Stamp      atomicfile.Stamp `json:"stamp"`
	Executable bool             `json:"executable,omitempty"`
}

func (l listed) isDirectory() bool { return l.Name[len(l.Name)-1] == '/' }

// list lists what is below a directory, each directory before what it holds. There
// may be nothing but files and directories.
func list(root *os.Root) ([]listed, error) {
	var all []listed
	err := fs.WalkDir(root.FS(), ".", func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case name == ".":
			return nil
		case entry.IsDir():
			all = append(all, listed{Name: name + "/"})
			return nil
		case !entry.Type().IsRegular():
			return fmt.Errorf("%s is neither a file nor a directory", name)
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		all = append(all, listed{name, atomicfile.StampOf(info), info.Mode()&0o111 != 0})
		return nil
	})
	return all, err
}

// sizeOf adds up the sizes of files, in bytes.
func sizeOf(files []listed) (size int64) {
	for _, f := range files {
		size += f.Stamp.Size()
	}
	return size
}

// copyFiles copies what is listed from one directory into another, an empty one,
// and brings it to the disk. A file that looks otherwise than it is listed, before
// or after it was copied, is [errChanged].
func copyFiles(ctx context.Context, to, from *os.Root, files []listed) error {
	for _, f := range files {
		if f.isDirectory() {
			if err := to.MkdirAll(filepath.FromSlash(path.Clean(f.Name)), modeDirectory); err != nil {
				return err
			}
		}
	}
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(atOnce)
	for _, f := range files {
		if !f.isDirectory() {
			group.Go(func() error { return copyFile(ctx, to, from, f) })
		}
	}
	return group.Wait()
}

func copyFile(ctx context.Context, to, from *os.Root, f listed) error {
	name := filepath.FromSlash(f.Name)
	src, err := from.Open(name)
	if err != nil {
		return fmt.Errorf("%s: %w: %w", f.Name, errChanged, err)
	}
	defer src.Close()
	if err := unchanged(src, f); err != nil {
		return err
	}
	mode := fs.FileMode(modeFile)
	if f.Executable {
		mode = modeExecutable
	}
	dst, err := atomicfile.CloneIn(ctx, to, name, mode, src)
	if err != nil {
		return err
	}
	defer dst.Close()
	if err := unchanged(src, f); err != nil {
		return err
	}
	return errors.Join(dst.Sync(), dst.Close())
}

func unchanged(src *os.File, f listed) error {
	info, err := src.Stat()
	if err == nil && atomicfile.StampOf(info) == f.Stamp {
		return nil
	}
	return fmt.Errorf("%s: %w", f.Name, errors.Join(errChanged, err))
}

// errChanged says that a file is not as it was listed.
var errChanged = errors.New("it is not as it was")
