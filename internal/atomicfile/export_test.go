package atomicfile

import (
	"io/fs"
	"os"
)

// CreateWith is like [Create], but opens the temporary file with the given function.
func CreateWith(path string, open func(name string, mode fs.FileMode) (*os.File, error)) (*File, error) {
	return create(path, 0o644, open)
}

// StaleAfter is the age after which Sweep removes temporary files.
const StaleAfter = staleAfter
