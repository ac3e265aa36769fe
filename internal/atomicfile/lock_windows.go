package atomicfile

import "os"

const renamesOpenFiles = false

// lockFile does nothing, because open files can't be removed.
func lockFile(*os.File) error { return nil }

// removeUnlocked does nothing, because open files can't be renamed: between its closing
// and its renaming, a file is in use although no process has opened it.
func removeUnlocked(string) {}
