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
	// The dot hides temporary files from the wildcards of shells. Neither part has an
	// underscore, so OpenTofu does not interpret such a name as a platform's directory.
	temporaryPrefix = ".tofu-oci-"
	temporarySuffix = ".tmp"
	// staleAfter is longer than a download in progress leaves its file unmodified.
	staleAfter = 24 * time.Hour

	// TemporaryPattern is a pattern for [os.CreateTemp] and [os.MkdirTemp]. [Sweep]
	// recognizes the names.
	TemporaryPattern = temporaryPrefix + "*" + temporarySuffix
)

func temporaryName(dir string) string {
	return filepath.Join(dir, temporaryPrefix+rand.Text()+temporarySuffix)
}

// Sweep removes temporary files and directories from dir that killed runs left more
// than a day ago. It does not follow symbolic links. It ignores errors, such as for
// files of another user.
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

// Sweep calls the function [Sweep] at the first call for a directory.
func (s *Sweeper) Sweep(dir string) {
	if _, done := s.swept.LoadOrStore(dir, true); !done {
		Sweep(dir)
	}
}
