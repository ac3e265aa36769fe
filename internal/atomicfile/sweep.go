package atomicfile

import (
	"crypto/rand"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

const (
	// The dot hides temporary files from shell wildcards. The prefix and suffix contain
	// no underscore, so OpenTofu does not mistake a temporary name for a platform's
	// directory.
	temporaryPrefix = ".tofu-oci-"
	temporarySuffix = ".tmp"
	// lockedPrefix is the prefix of files that are locked while they are written.
	lockedPrefix = temporaryPrefix + "locked-"
	// staleAfter is longer than the longest time between two writes of an active
	// download.
	staleAfter = 24 * time.Hour

	// TemporaryPattern is a pattern for [os.CreateTemp] and [os.MkdirTemp]. [Sweep]
	// recognizes the resulting names.
	TemporaryPattern = temporaryPrefix + "*" + temporarySuffix
)

func temporaryName(dir string) string { return uniqueName(dir, temporaryPrefix) }

func uniqueName(dir, prefix string) string {
	return filepath.Join(dir, prefix+rand.Text()+temporarySuffix)
}

// Sweep removes temporary files and directories that killed runs left in dir. It
// removes a [File] as soon as no process writes it, and everything else after a day. On
// Windows, it removes a [File] after a day, too. It does not follow symbolic links. It
// ignores errors, such as those for files of another user.
func Sweep(dir string) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return
	}
	for _, entry := range entries {
		name := entry.Name()
		if !strings.HasPrefix(name, temporaryPrefix) || !strings.HasSuffix(name, temporarySuffix) {
			continue
		}
		if strings.HasPrefix(name, lockedPrefix) && entry.Type().IsRegular() {
			removeUnlocked(filepath.Join(dir, name))
		}
		fi, err := entry.Info()
		if err != nil || time.Since(fi.ModTime()) < staleAfter || !fi.IsDir() && !fi.Mode().IsRegular() {
			continue
		}
		_ = os.RemoveAll(filepath.Join(dir, name))
	}
}

// Sweeper sweeps each directory only once. The zero value is ready to use. It is safe
// for concurrent use.
type Sweeper struct{ swept sync.Map }

// Sweep calls the function [Sweep] once for each directory.
func (s *Sweeper) Sweep(dir string) {
	if _, done := s.swept.LoadOrStore(dir, true); !done {
		Sweep(dir)
	}
}
