package atomicfile_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tofu-oci/tofu-oci/internal/atomicfile"
	"github.com/tofu-oci/tofu-oci/internal/testing/patience"
)

// litter creates a temporary file and a temporary directory in dir. They have the given
// age and the names that killed runs would leave.
func litter(t *testing.T, dir string, ago time.Duration) []string {
	t.Helper()
	scratch := t.TempDir()
	f, err := os.CreateTemp(scratch, atomicfile.TemporaryPattern)
	if err != nil {
		t.Fatal(err)
	}
	_ = f.Close()
	fileName := filepath.Base(f.Name())
	tmp, err := atomicfile.TempDir(scratch)
	if err != nil {
		t.Fatal(err)
	}
	dirName := filepath.Base(tmp)
	writeOld(t, filepath.Join(dir, fileName), ago)
	writeOld(t, filepath.Join(dir, dirName, "sub", "file"), ago)
	age(t, filepath.Join(dir, dirName), ago)
	return []string{fileName, dirName}
}

func writeOld(t *testing.T, path string, ago time.Duration) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte("half"), 0o644); err != nil {
		t.Fatal(err)
	}
	age(t, path, ago)
}

func age(t *testing.T, path string, ago time.Duration) {
	t.Helper()
	then := time.Now().Add(-ago)
	if err := os.Chtimes(path, then, then); err != nil {
		t.Fatal(err)
	}
}

func TestSweep(t *testing.T) {
	t.Parallel()
	const stale, young = atomicfile.StaleAfter + time.Hour, atomicfile.StaleAfter - patience.Limit
	dir := t.TempDir()
	gone := litter(t, dir, stale)
	kept := litter(t, dir, young)
	for _, stranger := range []string{".tofu-oci-notes.txt", "data.tmp", "terraform-provider-x.zip", "tofu-oci-x.tmp"} {
		writeOld(t, filepath.Join(dir, stranger), stale)
		kept = append(kept, stranger)
	}

	atomicfile.Sweep(dir)

	left := names(t, dir)
	for _, name := range gone {
		if slices.Contains(left, name) {
			t.Errorf("%s is more than a day old and still there", name)
		}
	}
	for _, name := range kept {
		if !slices.Contains(left, name) {
			t.Errorf("%s is gone", name)
		}
	}
}

// TestSweepDuringCreate removes each new file as soon as it isn't locked.
func TestSweepDuringCreate(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	stop := make(chan struct{})
	swept := make(chan struct{})
	go func() {
		defer close(swept)
		for {
			select {
			case <-stop:
				return
			default:
				atomicfile.Sweep(dir)
			}
		}
	}()
	for range 200 {
		if err := atomicfile.WriteFile(filepath.Join(dir, "file"), 0o644, []byte("content")); err != nil {
			t.Error(err)
		}
	}
	close(stop)
	<-swept
	checkNames(t, dir, "file")
}

func TestSweepWithoutDirectory(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	atomicfile.Sweep(filepath.Join(dir, "missing"))
	checkNames(t, dir)
}

func TestTemporaryNamesAreNotPlatforms(t *testing.T) {
	t.Parallel()
	tmp, err := atomicfile.TempDir(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(filepath.Base(tmp), "_") {
		t.Errorf("OpenTofu could take %s for a platform's directory", filepath.Base(tmp))
	}
}

func TestSweeperSweepsOnce(t *testing.T) {
	t.Parallel()
	var s atomicfile.Sweeper
	dir := t.TempDir()
	litter(t, dir, atomicfile.StaleAfter+time.Hour)
	s.Sweep(dir)
	if left := names(t, dir); len(left) > 0 {
		t.Errorf("%q are left", left)
	}
	kept := litter(t, dir, atomicfile.StaleAfter+time.Hour)
	s.Sweep(dir)
	if left := names(t, dir); len(left) < len(kept) {
		t.Errorf("it was swept again, %q are left", left)
	}
}

func TestTemporaryPatternIsSwept(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	tmp, err := os.CreateTemp(dir, atomicfile.TemporaryPattern)
	if err != nil {
		t.Fatal(err)
	}
	if err := tmp.Close(); err != nil {
		t.Fatal(err)
	}
	age(t, tmp.Name(), atomicfile.StaleAfter+time.Hour)
	atomicfile.Sweep(dir)
	if left := names(t, dir); len(left) > 0 {
		t.Errorf("%q are left", left)
	}
}
