//go:build !linux && !darwin

package atomicfile

import (
	"errors"
	"os"
)

// reflink returns an error, because this system cannot clone files.
func reflink(*os.Root, string, *os.File, *os.File) (*os.File, error) {
	return nil, errors.ErrUnsupported
}
