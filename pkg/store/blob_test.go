package store_test

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"testing/iotest"
	"time"

	"github.com/opencontainers/go-digest"

	"github.com/tofu-oci/tofu-oci/internal/filerecord"
	"github.com/tofu-oci/tofu-oci/pkg/store"
	"github.com/tofu-oci/tofu-oci/pkg/sums"
)

func TestKeepAndTake(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "made", "as needed")
	s, said := open(t, dir, false)
	if _, ok := take(t, s, digest.FromString("one")); ok {
		t.Error("it has what nobody gave it")
	}
	if _, err := os.Lstat(dir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("looking made the directory: %v", err)
	}
	for _, content := range []string{"one", "two", "", strings.Repeat("large ", 1<<18)} {
		keep(t, s, content)
		other, _ := open(t, dir, true)
		checkTaken(t, s, content)
		checkTaken(t, other, content)
	}
	said.check(t, 0, 0)
	noLitter(t, dir)
}

// TestKeepWithoutEnd: an HTTP client that knows the length reads so many bytes, and
// not the end.
func TestKeepWithoutEnd(t *testing.T) {
	t.Parallel()
	s, said := open(t, t.TempDir(), false)
	const content = "content"
	body := s.Keep(digest.FromString(content), int64(len(content)), io.NopCloser(strings.NewReader(content)))
	_, err := io.CopyN(io.Discard, body, int64(len(content)))
	must(t, errors.Join(err, body.Close()))
	checkTaken(t, s, content)
	said.check(t, 0, 0)
}

func TestKeepOfUnknownSize(t *testing.T) {
	t.Parallel()
	s, said := open(t, t.TempDir(), false)
	const content = "content"
	body := s.Keep(digest.FromString(content), -1, io.NopCloser(strings.NewReader(content)))
	_, err := io.CopyN(io.Discard, body, int64(len(content)))
	must(t, err)
	if _, ok := take(t, s, digest.FromString(content)); ok {
		t.Error("it was kept before its end was seen")
	}
	_, err = io.Copy(io.Discard, body)
	must(t, errors.Join(err, body.Close()))
	checkTaken(t, s, content)
	said.check(t, 0, 0)
}

// TestKeepsNothingHalf: the reader gets what came, and its error.
func TestKeepsNothingHalf(t *testing.T) {
	t.Parallel()
	const content = "content"
	d := digest.FromString(content)
	broken := errors.New("connection reset")
	for name, test := range map[string]struct {
		body io.Reader
		want error
	}{
		"breaks off":            {io.MultiReader(strings.NewReader(content[:3]), iotest.ErrReader(broken)), broken},
		"ends early":            {strings.NewReader(content[:3]), nil},
		"has wrong bytes":       {sums.NewReader(strings.NewReader("CONTENT"), "x", int64(len(content)), d), &sums.MismatchError{}},
		"is empty":              {strings.NewReader(""), nil},
		"breaks with its bytes": {iotest.DataErrReader(io.MultiReader(strings.NewReader(content[:3]), iotest.ErrReader(broken))), broken},
		"is closed before":      {strings.NewReader(content), nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			s, said := open(t, dir, false)
			body := s.Keep(d, int64(len(content)), io.NopCloser(test.body))
			got, err := io.ReadAll(io.LimitReader(body, 6))
			if err == nil && test.want != nil {
				_, err = io.ReadAll(body)
			}
			if _, mismatch := errors.AsType[*sums.MismatchError](err); !errors.Is(err, test.want) && !mismatch {
				t.Errorf("%q came, and the error %v; want %v", got, err, test.want)
			}
			must(t, body.Close())
			if _, ok := take(t, s, d); ok {
				t.Error("it was kept")
			}
			said.check(t, 0, 0)
			noLitter(t, dir)
			// And nothing of that is in the way.
			keep(t, s, content)
			checkTaken(t, s, content)
		})
	}
}

// TestDamagedZips: what is not right is noticed when it is used, said once, and
// replaced.
func TestDamagedZips(t *testing.T) {
	t.Parallel()
	const content = "the content of a zip"
	for name, damage := range map[string]func(t *testing.T, path string){
		"changed in place": patch,
		"replaced": func(t *testing.T, path string) {
			must(t, os.WriteFile(path+".new", []byte("THE CONTENT OF A ZIP"), 0o644))
			must(t, os.Rename(path+".new", path))
		},
		"shorter": func(t *testing.T, path string) { must(t, os.Truncate(path, 3)) },
		"empty":   func(t *testing.T, path string) { must(t, os.Truncate(path, 0)) },
		"longer":  func(t *testing.T, path string) { must(t, os.WriteFile(path, []byte(content+"x"), 0o644)) },
		"a directory": func(t *testing.T, path string) {
			must(t, os.Remove(path))
			must(t, os.Mkdir(path, 0o755))
		},
	} {
		for _, recheck := range []bool{false, true} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				dir := t.TempDir()
				s, said := open(t, dir, recheck)
				d := keep(t, s, content)
				damage(t, blobPath(dir, d))
				if got, ok := take(t, s, d); ok {
					t.Errorf("it gives %q", got)
				}
				said.check(t, 1, 0)
				if !strings.Contains(said.damaged[0], blobPath(dir, d)) {
					t.Errorf("it says %q", said.damaged[0])
				}
				if _, ok := take(t, s, d); ok {
					t.Error("it is back")
				}
				said.check(t, 1, 0)
				keep(t, s, content)
				checkTaken(t, s, content)
				said.check(t, 1, 0)
			})
		}
	}
}

// TestZipsThatOnlyLookOtherwise are hashed, as after a copy of the whole cache, and
// trusted from then on.
func TestZipsThatOnlyLookOtherwise(t *testing.T) {
	t.Parallel()
	const content = "the content of a zip"
	dir := t.TempDir()
	s, said := open(t, dir, false)
	d := keep(t, s, content)
	at := time.Now().Add(-time.Hour)
	must(t, os.Chtimes(blobPath(dir, d), at, at))
	before, err := os.ReadFile(recordPath(dir, d))
	must(t, err)
	checkTaken(t, s, content)
	after, err := os.ReadFile(recordPath(dir, d))
	must(t, err)
	if string(before) == string(after) {
		t.Error("the record is not renewed")
	}
	must(t, os.Remove(recordPath(dir, d)))
	checkTaken(t, s, content)
	if again, err := os.ReadFile(recordPath(dir, d)); err != nil || string(again) != string(after) {
		t.Errorf("the record is %q, %v", again, err)
	}
	said.check(t, 0, 0)
}

// rot damages a zip as a disk does, without a trace: it looks as its record says.
func rot(t *testing.T, dir string, d digest.Digest) {
	t.Helper()
	patch(t, blobPath(dir, d))
	info, err := os.Lstat(blobPath(dir, d))
	must(t, err)
	must(t, os.WriteFile(recordPath(dir, d), []byte(filerecord.StampOf(info).String()), 0o644))
}

func TestRotIsFoundByRecheck(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s, said := open(t, dir, true)
	d := keep(t, s, "the content of a zip")
	rot(t, dir, d)
	if got, ok := take(t, s, d); ok {
		t.Errorf("it gives %q", got)
	}
	said.check(t, 1, 0)
}

// TestRotIsFoundByReading: the reader that a source gives is verified, wherever the
// bytes come from.
func TestRotIsFoundByReading(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s, said := open(t, dir, false)
	d := keep(t, s, "the content of a zip")
	rot(t, dir, d)
	blob, ok := s.Blob(t.Context(), d)
	if !ok {
		t.Fatal("what looks right is not trusted")
	}
	body := blob.Verified(t.Context(), "x.zip")
	got, err := io.ReadAll(body)
	_ = body.Close()
	if _, mismatch := errors.AsType[*sums.MismatchError](err); !mismatch || int64(len(got)) >= blob.Size() {
		t.Errorf("%d bytes came, %v", len(got), err)
	}
	said.check(t, 1, 0)
	if _, ok := take(t, s, d); ok {
		t.Error("it is still there")
	}
}

// TestChangedWhileCopied: what was copied is not right then.
func TestChangedWhileCopied(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s, said := open(t, dir, false)
	d := keep(t, s, "the content of a zip")
	blob, ok := s.Blob(t.Context(), d)
	if !ok {
		t.Fatal("it is not there")
	}
	defer blob.Close()
	must(t, blob.Unchanged())
	must(t, os.Truncate(blobPath(dir, d), 3))
	if blob.Unchanged() == nil {
		t.Error("nothing is noticed")
	}
	said.check(t, 1, 0)
}

// TestGoneWhileCopied: another process removed or replaced the file, which changes
// the time of change of the one that is open, and nothing of its content.
func TestGoneWhileCopied(t *testing.T) {
	t.Parallel()
	const content = "the content of a zip"
	for name, change := range map[string]func(t *testing.T, path string){
		"removed": func(t *testing.T, path string) { must(t, os.Remove(path)) },
		"replaced": func(t *testing.T, path string) {
			must(t, os.WriteFile(path+".new", []byte(content), 0o644))
			must(t, os.Rename(path+".new", path))
		},
	} {
		if runtime.GOOS == "windows" {
			continue // which removes no file that is open
		}
		dir := t.TempDir()
		s, said := open(t, dir, false)
		d := keep(t, s, content)
		blob, ok := s.Blob(t.Context(), d)
		if !ok {
			t.Fatal("it is not there")
		}
		change(t, blobPath(dir, d))
		if err := blob.Unchanged(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		must(t, blob.Close())
		said.check(t, 0, 0)
	}
}

// TestBrokenStore: where nothing can be kept, contents come through, and it is said
// once.
func TestBrokenStore(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		spoil func(t *testing.T, dir string)
		size  int64
		want  error
	}{
		"no directory":         {func(t *testing.T, dir string) { must(t, os.WriteFile(filepath.Join(dir, "blobs"), nil, 0o644)) }, 7, syscall.ENOTDIR},
		"less space than that": {func(*testing.T, string) {}, 1 << 60, syscall.ENOSPC},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			first, _ := open(t, dir, false)
			keep(t, first, "first")
			must(t, os.RemoveAll(filepath.Join(dir, "blobs")))
			test.spoil(t, dir)
			s, said := open(t, dir, false)
			for _, content := range []string{"content", "another"} {
				body := s.Keep(digest.FromString(content), test.size, io.NopCloser(strings.NewReader(content)))
				got, err := io.ReadAll(body)
				must(t, errors.Join(err, body.Close()))
				if string(got) != content {
					t.Errorf("%q came", got)
				}
			}
			said.check(t, 0, 1)
			if !errors.Is(said.failed[0], test.want) {
				t.Errorf("it says %v", said.failed[0])
			}
		})
	}
}

func TestNoStore(t *testing.T) {
	t.Parallel()
	var s *store.Store
	d := keep(t, s, "content")
	if _, ok := take(t, s, d); ok {
		t.Error("nothing gives something")
	}
	putTree(t, s, aPackage)
	if _, ok := s.Tree(t.Context(), d); ok {
		t.Error("nothing gives a package")
	}
}

func TestOtherDigests(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "store")
	s, said := open(t, dir, false)
	for _, d := range []digest.Digest{"", "sha256:../../x", digest.Digest("sha512:" + strings.Repeat("ab", 64))} {
		body := s.Keep(d, 7, io.NopCloser(strings.NewReader("content")))
		_, err := io.Copy(io.Discard, body)
		must(t, errors.Join(err, body.Close()))
		if _, ok := s.Blob(t.Context(), d); ok {
			t.Errorf("%q is there", d)
		}
		s.PutTree(t.Context(), d, store.Hashes{}, t.TempDir())
		if _, ok := s.Tree(t.Context(), d); ok {
			t.Errorf("%q is there, unpacked", d)
		}
	}
	said.check(t, 0, 0)
	if _, err := os.Lstat(dir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("something was kept: %v", err)
	}
}

func TestOpenRefuses(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		make    func(t *testing.T, dir string)
		refused bool
	}{
		"a file":          {func(t *testing.T, dir string) { must(t, os.WriteFile(dir, nil, 0o644)) }, true},
		"an image layout": {func(t *testing.T, dir string) { must(t, os.MkdirAll(filepath.Join(dir, "blobs", "sha256"), 0o755)) }, true},
		"another cache": {func(t *testing.T, dir string) {
			must(t, os.MkdirAll(filepath.Join(dir, "unpacked"), 0o755))
			must(t, os.WriteFile(filepath.Join(dir, "CACHEDIR.TAG"), []byte("Signature: 8a477f597d28d172789f06886806bc55\n"), 0o644))
		}, true},
		"a volume":           {func(t *testing.T, dir string) { must(t, os.MkdirAll(filepath.Join(dir, "lost+found"), 0o755)) }, false},
		"an empty directory": {func(t *testing.T, dir string) { must(t, os.Mkdir(dir, 0o755)) }, false},
		"nothing":            {func(*testing.T, string) {}, false},
	} {
		dir := filepath.Join(t.TempDir(), "dir")
		test.make(t, dir)
		_, err := store.Open(dir, store.Options{})
		if _, refused := errors.AsType[*store.NotCacheError](err); refused != test.refused || !refused && err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}
