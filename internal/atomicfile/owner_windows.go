package atomicfile

import "io/fs"

// giveBack has nothing to do: a file belongs to whoever may write its directory.
func giveBack(string, fs.FileInfo) error { return nil }
