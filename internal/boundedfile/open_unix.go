//go:build !windows

package boundedfile

import "os"

func open(path string) (*os.File, error) { return os.Open(path) }
