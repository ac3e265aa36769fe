//go:build !linux

package atomicfile

import "os"

// begin does nothing, because these systems do not support this hint.
func begin(*os.File, int64, int64) {}
