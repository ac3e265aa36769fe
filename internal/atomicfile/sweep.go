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
	// The dot hides temporary files from shells' wildcards. Neither part has an
	// underscore, so OpenTofu takes none of them for a platform's directory.
	temporaryPrefix = ".tofu-oci-"
	temporarySuffix = ".tmp"
	// staleAfter is longer than any download that still makes progress leaves
	// its file unmodified.
	staleAfter = 24 * time.Hour

	// TemporaryPattern is for [os.CreateTemp] and [os.MkdirTemp]: what they make
	// by it, [Sweep] finds.
	TemporaryPattern = temporaryPrefix + "*" + temporarySuffix
)

func temporaryName(dir string) string {
	return filepath.Join(dir, temporaryPrefix+rand.Text()+temporarySuffix)
}

// Sweep removes from dir the temporary files and directories that killed runs
// left there more than a day ago. Nothing else is touched, and no symbolic link
// followed. It is a courtesy and has no error: what can't be removed today,
// another user's for instance, is no reason to stop working.
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

// Sweeper sweeps each directory once, however often it is told to. The zero value
// is ready, and safe for concurrent use.
type Sweeper struct{ swept sync.Map }

// Sweep is as the function [Sweep], the first time.
func (s *Sweeper) Sweep(dir string) {
	if _, done := s.swept.LoadOrStore(dir, true); !done {
		Sweep(dir)
	}
}
