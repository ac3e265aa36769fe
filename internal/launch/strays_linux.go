package launch

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
)

// maxRounds is the maximum number of searches. During a search, a process can start a
// new process.
const maxRounds = 10

// killStrays kills the processes that have left a provider's group and reports whether
// it found any. It identifies them by the home directory in their environment, because
// this directory is unique to the provider.
func killStrays(home string) (found bool) {
	mark := []byte("\x00HOME=" + home + "\x00")
	for range maxRounds {
		again := false
		environments, _ := filepath.Glob("/proc/[0-9]*/environ")
		for _, path := range environments {
			again = killMarked(path, mark) || again
		}
		if !again {
			return found
		}
		found = true
	}
	return found
}

// killMarked kills a process if its environment contains mark.
func killMarked(environment string, mark []byte) bool {
	pid, err := strconv.Atoi(filepath.Base(filepath.Dir(environment)))
	if err != nil {
		return false
	}
	// Open the process before reading its environment, because its ID can be reused.
	process, err := os.FindProcess(pid)
	if err != nil {
		return false
	}
	defer func() { _ = process.Release() }()
	content, err := os.ReadFile(environment) // the kernel limits its size
	if err != nil || !bytes.Contains(append([]byte{0}, content...), mark) {
		return false
	}
	return process.Kill() == nil
}
