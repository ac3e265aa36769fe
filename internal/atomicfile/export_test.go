package atomicfile

import (
	"io/fs"
	"os"
)

// CreateWith is [Create] with another function for opening the temporary file.
func CreateWith(path string, open func(name string, mode fs.FileMode) (*os.File, error)) (*File, error) {
	return create(path, 0o644, open)
}

// StaleAfter is the age after which Sweep removes a temporary file.
const StaleAfter = staleAfter
