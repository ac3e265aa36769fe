package atomicfile_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/opencontainers/go-digest"

	"github.com/tofu-oci/tofu-oci/internal/atomicfile"
)

// write creates a file and returns its digest.
func write(t *testing.T, path, text string) digest.Digest {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return digest.FromString(text)
}

func stat(t *testing.T, path string) os.FileInfo {
	t.Helper()
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	return info
}

func TestChangesAreSeen(t *testing.T) {
	t.Parallel()
	changes := map[string]func(t *testing.T, path string){
		"another size": func(t *testing.T, path string) { write(t, path, "longer") },
		"another time": func(t *testing.T, path string) { touch(t, path) },
	}
	if runtime.GOOS != "windows" { // on Windows, stamps contain no inode
		changes["another inode"] = func(t *testing.T, path string) { replace(t, path) }
	}
	for name, change := range changes {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			record, path := filepath.Join(dir, "record"), filepath.Join(dir, "file")
			d := write(t, path, "text")
			r := atomicfile.NewRecord(record)
			if r.Has(d, stat(t, path)) {
				t.Error("a file that was never read is known")
			}
			if err := r.Add(d, stat(t, path)); err != nil {
				t.Fatal(err)
			}
			for who, r := range map[string]*atomicfile.Record{"the same process": r, "another": atomicfile.NewRecord(record)} {
				if !r.Has(d, stat(t, path)) || r.Has(digest.FromString("other"), stat(t, path)) {
					t.Errorf("%s does not know the file", who)
				}
			}
			change(t, path)
			if r.Has(d, stat(t, path)) || atomicfile.NewRecord(record).Has(d, stat(t, path)) {
				t.Error("the change is not seen")
			}
		})
	}
}

func touch(t *testing.T, path string) {
	t.Helper()
	at := stat(t, path).ModTime().Add(time.Second)
	if err := os.Chtimes(path, at, at); err != nil {
		t.Fatal(err)
	}
}

// replace replaces a file with a different file that has the same size and time.
func replace(t *testing.T, path string) {
	t.Helper()
	at := stat(t, path).ModTime()
	write(t, path+".new", "TEXT")
	if err := os.Chtimes(path+".new", at, at); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(path+".new", path); err != nil {
		t.Fatal(err)
	}
}

// TestInvalidLinesAreSkipped checks that invalid lines of a record are skipped, and
// that valid lines are used.
func TestInvalidLinesAreSkipped(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	record, path := filepath.Join(dir, "record"), filepath.Join(dir, "file")
	d := write(t, path, "text")
	if err := atomicfile.NewRecord(record).Add(d, stat(t, path)); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(record)
	if err != nil {
		t.Fatal(err)
	}
	write(t, record, "nonsense\n\nsha256:x 1 2 3 4\n"+string(data)+"sha256:")
	if !atomicfile.NewRecord(record).Has(d, stat(t, path)) {
		t.Error("the line between is lost")
	}
}

// TestLinesConcurrently checks that lines of concurrent writers do not mix.
func TestLinesConcurrently(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	record := filepath.Join(dir, "record")
	var group sync.WaitGroup
	for i := range 8 {
		group.Go(func() {
			r := atomicfile.NewRecord(record)
			for j := range 20 {
				path := filepath.Join(dir, fmt.Sprintf("%d-%d", i, j))
				d := write(t, path, path)
				if err := r.Add(d, stat(t, path)); err != nil {
					t.Error(err)
				}
			}
		})
	}
	group.Wait()
	r := atomicfile.NewRecord(record)
	for i := range 8 {
		for j := range 20 {
			path := filepath.Join(dir, fmt.Sprintf("%d-%d", i, j))
			if !r.Has(digest.FromString(path), stat(t, path)) {
				t.Errorf("%s is not known", path)
			}
		}
	}
}

// TestOldLinesAreRemoved checks that a record does not grow without limit if a file
// changes repeatedly.
func TestOldLinesAreRemoved(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	record, path := filepath.Join(dir, "record"), filepath.Join(dir, "file")
	d := write(t, path, "text")
	r := atomicfile.NewRecord(record)
	for range 2000 {
		touch(t, path)
		if err := r.Add(d, stat(t, path)); err != nil {
			t.Fatal(err)
		}
	}
	data, err := os.ReadFile(record)
	if lines := bytes.Count(data, []byte("\n")); err != nil || lines > 1200 || lines == 0 {
		t.Errorf("%d lines, %v", lines, err)
	}
	if !atomicfile.NewRecord(record).Has(d, stat(t, path)) {
		t.Error("the newest line is lost")
	}
}

func TestStampRoundTrip(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "file")
	write(t, path, "text")
	want := atomicfile.StampOf(stat(t, path))
	if got, err := atomicfile.ParseStamp(want.String()); got != want || err != nil {
		t.Errorf("got %v, want %v: %v", got, want, err)
	}
	for _, text := range []string{"", "1 2 3", "1 2 3 4 5", "1 2 3 x", "1 2 3 -4", want.String() + "0x"} {
		if s, err := atomicfile.ParseStamp(text); err == nil {
			t.Errorf("%q is taken for the stamp %v", text, s)
		}
	}
}
