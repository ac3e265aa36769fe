package lockfile

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"github.com/tofu-oci/tofu-oci/internal/atomicfile"
)

// mode is that of the files that OpenTofu writes; the umask narrows it.
const mode = 0o644

// Update changes the lock file at path, while no other process that calls Update
// does, and makes it when there is none. A link stays, and the file it leads to is
// changed. The file is replaced as a whole, when its text has changed; after an
// error, also one of change, it is as it was. The error is [ErrChanged] if another
// process wrote the file meanwhile.
func Update(ctx context.Context, path string, change func(*File) error) (changed bool, err error) {
	// 1. Nobody else comes in between.
	place, err := atomicfile.Resolve(path)
	if err != nil {
		return false, fmt.Errorf("updating the lock file: %w", err)
	}
	release, err := lock(ctx, path, place)
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, release()) }()
	// 2. What is there, and what will be.
	before, err := atomicfile.ReadUserFile(place, maxSize)
	if err != nil {
		return false, fmt.Errorf("reading the lock file: %w", err)
	}
	f, err := Parse(path, before.Text)
	if err != nil {
		return false, err
	}
	if err := change(f); err != nil {
		return false, err
	}
	after := f.Bytes()
	if bytes.Equal(before.Text, after) {
		return false, nil
	}
	if _, err := Parse(path, after); err != nil {
		return false, fmt.Errorf("what would be written is no lock file: %w", err)
	}
	// 3. It replaces what was read, and nothing else.
	if err := ctx.Err(); err != nil {
		return false, err
	}
	if err = before.Replace(after, mode); errors.Is(err, atomicfile.ErrChanged) {
		return false, fmt.Errorf("lock file %s: %w", path, ErrChanged)
	}
	if err != nil {
		return false, fmt.Errorf("writing the lock file: %w", err)
	}
	return true, nil
}
