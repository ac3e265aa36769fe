package repository

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// writable implements [Traits.Writable]. It creates and removes a file in the layout or,
// if the layout doesn't exist, in its closest existing parent directory.
func (l *layout) writable(context.Context) error {
	dir := l.dir
	for {
		_, err := os.Stat(dir)
		if err == nil || !errors.Is(err, fs.ErrNotExist) || filepath.Dir(dir) == dir {
			break
		}
		dir = filepath.Dir(dir)
	}
	f, err := os.CreateTemp(dir, ".tofu-oci-*")
	if err != nil {
		return err
	}
	return errors.Join(f.Close(), os.Remove(f.Name()))
}
