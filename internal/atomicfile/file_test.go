package atomicfile_test

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tofu-oci/tofu-oci/internal/atomicfile"
)

// names returns all paths below dir, including temporary files.
func names(t *testing.T, dir string) []string {
	t.Helper()
	var out []string
	err := filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		rel, _ := filepath.Rel(dir, path)
		if rel != "." {
			out = append(out, filepath.ToSlash(rel))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func checkNames(t *testing.T, dir string, want ...string) {
	t.Helper()
	if diff := cmp.Diff(want, names(t, dir)); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
}

func checkContent(t *testing.T, path, want string) {
	t.Helper()
	got, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != want {
		t.Errorf("%s has %q, want %q", filepath.Base(path), got, want)
	}
}

func begin(t *testing.T, path, content string) *atomicfile.File {
	t.Helper()
	f, err := atomicfile.Create(path, 0o644)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(f, content); err != nil {
		t.Fatal(err)
	}
	return f
}

func TestCommit(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "a", "b", "file")
	for _, content := range []string{"first", "second, which replaces it"} {
		f := begin(t, path, content)
		if got := names(t, dir); len(got) == 0 || got[len(got)-1] == "a/b/file" && content == "first" {
			t.Errorf("before the commit, the directory contains %v, want only a temporary file", got)
		}
		back := make([]byte, 5)
		if _, err := f.ReadAt(back, 0); err != nil || string(back) != content[:5] {
			t.Errorf("ReadAt gave %q, %v", back, err)
		}
		if err := f.Commit(); err != nil {
			t.Fatal(err)
		}
		f.Discard()
		checkContent(t, path, content)
	}
	checkNames(t, dir, "a", "a/b", "a/b/file")
}

func TestUmaskApplies(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	plain := filepath.Join(dir, "plain")
	if err := os.WriteFile(plain, nil, 0o755); err != nil {
		t.Fatal(err)
	}
	ours := filepath.Join(dir, "ours")
	if err := atomicfile.Write(ours, 0o755, func(io.Writer) error { return nil }); err != nil {
		t.Fatal(err)
	}
	want, err := os.Stat(plain)
	if err != nil {
		t.Fatal(err)
	}
	got, err := os.Stat(ours)
	if err != nil {
		t.Fatal(err)
	}
	if got.Mode() != want.Mode() {
		t.Errorf("mode %v, want %v as any program's", got.Mode(), want.Mode())
	}
}

func TestDiscardAfterCommit(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	f := begin(t, filepath.Join(dir, "file"), "x")
	f.Discard()
	f.Discard()
	if err := f.Commit(); !errors.Is(err, fs.ErrClosed) {
		t.Errorf("Commit after Discard: %v, want fs.ErrClosed", err)
	}
	checkNames(t, dir)
}

func TestFailedWrite(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "file")
	if err := os.WriteFile(path, []byte("before"), 0o644); err != nil {
		t.Fatal(err)
	}
	broken := errors.New("the connection broke")
	err := atomicfile.Write(path, 0o644, func(w io.Writer) error {
		_, _ = io.WriteString(w, "half")
		return broken
	})
	if !errors.Is(err, broken) {
		t.Errorf("error %v, want that of fill", err)
	}
	checkContent(t, path, "before")
	checkNames(t, dir, "file")
}

func TestCreateUnderAFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "file"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := atomicfile.Create(filepath.Join(dir, "file", "below"), 0o644); err == nil {
		t.Error("no error for a directory that is a file")
	}
	checkNames(t, dir, "file")
}

func TestCommitNewRefusesExisting(t *testing.T) {
	t.Parallel()
	commits := map[string]func(*atomicfile.File) error{
		"with hard links":    (*atomicfile.File).CommitNew,
		"without hard links": (*atomicfile.File).CommitNewUnlinked,
	}
	for name, commit := range commits {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			path := filepath.Join(dir, "file")
			if err := commit(begin(t, path, "first")); err != nil {
				t.Fatal(err)
			}
			if err := commit(begin(t, path, "second")); !errors.Is(err, fs.ErrExist) {
				t.Errorf("error %v, want fs.ErrExist", err)
			}
			checkContent(t, path, "first")
			checkNames(t, dir, "file")
		})
	}
}

func TestCommitNewHasOneWinner(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "file")
	const racers = 16
	files := make([]*atomicfile.File, racers)
	for i := range files {
		files[i] = begin(t, path, string(rune('a'+i)))
	}
	errs := make([]error, racers)
	var group sync.WaitGroup
	for i, f := range files {
		group.Go(func() { errs[i] = f.CommitNew() })
	}
	group.Wait()
	var winners []string
	for i, err := range errs {
		switch {
		case err == nil:
			winners = append(winners, string(rune('a'+i)))
		case !errors.Is(err, fs.ErrExist):
			t.Errorf("a loser got %v, want fs.ErrExist", err)
		}
	}
	if len(winners) != 1 {
		t.Fatalf("winners %v, want one", winners)
	}
	checkContent(t, path, winners[0])
	checkNames(t, dir, "file")
}

// TestCreateDuringDirectoryRemoval covers a process that concurrently removes empty
// directories.
func TestCreateDuringDirectoryRemoval(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	dir := filepath.Join(root, "blobs", "sha256")
	var group sync.WaitGroup
	for n := range 4 {
		group.Go(func() {
			for range 500 {
				f, err := atomicfile.Create(filepath.Join(dir, fmt.Sprint(n)), 0o644)
				if err != nil {
					t.Error(err)
					return
				}
				f.Discard()
				_ = os.Remove(dir)
				_ = os.Remove(filepath.Dir(dir))
			}
		})
	}
	group.Wait()
}

func TestCopy(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "made", "copy")
	if err := os.WriteFile(filepath.Join(dir, "src"), []byte("text"), 0o600); err != nil {
		t.Fatal(err)
	}
	src, err := os.Open(filepath.Join(dir, "src"))
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	f, err := atomicfile.Copy(t.Context(), path, 0o644, src)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Discard()
	if err := f.CommitNew(); err != nil {
		t.Fatal(err)
	}
	checkContent(t, path, "text")
	checkNames(t, dir, "made", "made/copy", "src")
}
