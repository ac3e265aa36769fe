//go:build !windows

package atomicfile_test

import (
	"path/filepath"
	"testing"

	"github.com/tofu-oci/tofu-oci/internal/atomicfile"
)

// TestSweepRemovesUnlockedFiles sweeps a file that a process writes, and then its copy
// under the same name, as the process would have left it.
func TestSweepRemovesUnlockedFiles(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	final := filepath.Join(dir, "file")
	f := begin(t, final, "half")
	temporary := names(t, dir)
	atomicfile.Sweep(dir)
	checkNames(t, dir, temporary...)
	if err := f.Commit(); err != nil {
		t.Fatal(err)
	}
	for _, name := range temporary {
		writeOld(t, filepath.Join(dir, name), 0)
	}
	atomicfile.Sweep(dir)
	checkNames(t, dir, "file")
}
