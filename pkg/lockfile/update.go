package lockfile

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/tofu-oci/tofu-oci/internal/atomicfile"
	"github.com/tofu-oci/tofu-oci/internal/boundedfile"
)

// mode is that of the files that OpenTofu writes; the umask narrows it.
const mode = 0o644

// Update changes the lock file at path, while no other process that calls Update
// does, and makes it when there is none. A link stays, and the file it leads to is
// changed. The file is replaced as a whole, when its text has changed; after an
// error, also one of change, it is as it was. The error is a *[BusyError] where
// another process goes on writing it.
func Update(ctx context.Context, path string, change func(*File) error) (changed bool, err error) {
	// 1. Nobody else comes in between.
	place, err := resolve(path)
	if err != nil {
		return false, fmt.Errorf("updating the lock file: %w", err)
	}
	release, err := lock(ctx, path, place)
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, release()) }()
	// 2. What is there, and what will be.
	before, err := content(place)
	if err != nil {
		return false, fmt.Errorf("reading the lock file: %w", err)
	}
	f, err := Parse(path, before)
	if err != nil {
		return false, err
	}
	if err := change(f); err != nil {
		return false, err
	}
	after := f.Bytes()
	if bytes.Equal(before, after) {
		return false, nil
	}
	if _, err := Parse(path, after); err != nil {
		return false, fmt.Errorf("what would be written is no lock file: %w", err)
	}
	// 3. It replaces what was read, and nothing else.
	if err := ctx.Err(); err != nil {
		return false, err
	}
	if now, err := content(place); err != nil || !bytes.Equal(now, before) {
		return false, errors.Join(&BusyError{Path: path}, err)
	}
	err = atomicfile.Write(place, mode, func(w io.Writer) error {
		_, err := w.Write(after)
		return err
	})
	if err != nil {
		return false, fmt.Errorf("writing the lock file: %w", err)
	}
	return true, nil
}

// resolve gives the path of the file that a link leads to, and has no link before
// a file that is not there yet. The directory must be there.
func resolve(path string) (string, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	if _, err := os.Lstat(path); err == nil {
		return filepath.EvalSymlinks(path)
	} else if !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	dir, err := filepath.EvalSymlinks(filepath.Dir(path))
	return filepath.Join(dir, filepath.Base(path)), err
}

// content is the text of a file; none when the file is not there.
func content(path string) ([]byte, error) {
	data, err := boundedfile.Read(path, maxSize)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return data, err
}
