//go:build !linux && !darwin

package atomicfile

import (
	"errors"
	"os"
)

// reflink is not supported.
func reflink(*os.Root, string, *os.File, *os.File) (*os.File, error) {
	return nil, errors.ErrUnsupported
}
