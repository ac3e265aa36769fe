package launch

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
)

// maxRounds is how often processes are looked for: one may start another while it is
// looked at.
const maxRounds = 10

// killStrays ends the processes that have left the group of a provider, and tells
// whether there were any. They are known by the home directory in their environment,
// which is that of one provider alone.
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

// killMarked ends a process whose environment has a mark.
func killMarked(environment string, mark []byte) bool {
	pid, err := strconv.Atoi(filepath.Base(filepath.Dir(environment)))
	if err != nil {
		return false
	}
	// Held before it is read: the number may be another's soon.
	process, err := os.FindProcess(pid)
	if err != nil {
		return false
	}
	defer func() { _ = process.Release() }()
	content, err := os.ReadFile(environment) // as bounded as the arguments of a process
	if err != nil || !bytes.Contains(append([]byte{0}, content...), mark) {
		return false
	}
	return process.Kill() == nil
}
