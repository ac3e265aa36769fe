package atomicfile

import (
	"io/fs"
	"os"
)

// CreateWith is Create with another way to open the temporary file.
func CreateWith(path string, open func(name string, mode fs.FileMode) (*os.File, error)) (*File, error) {
	return create(path, 0o644, open)
}

// StaleAfter is the age at which Sweep takes a temporary file.
const StaleAfter = staleAfter
