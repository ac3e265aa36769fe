package pull_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/iotest"
	"time"

	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/pull"
	"github.com/tofu-oci/tofu-oci/pkg/sums"
)

func TestSinkStores(t *testing.T) {
	t.Parallel()
	eachSink(t, func(t *testing.T, c sinkCase, dir string) {
		s := sinkAt(t, c, dir)
		if path, ok, err := s.Has(t.Context(), c.p); ok || err != nil || path != filepath.Join(dir, filepath.FromSlash(c.place)) {
			t.Errorf("before Put: Has returned %s, %v, %v", path, ok, err)
		}
		if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("the directory was created before the first package: %v", err)
		}
		checkPut(t, s, c, dir, false)
		checkSinkFiles(t, dir, c.files)
	})
}

func TestSinkKeepsExistingPackages(t *testing.T) {
	t.Parallel()
	eachSink(t, func(t *testing.T, c sinkCase, dir string) {
		s := sinkAt(t, c, dir)
		checkPut(t, s, c, dir, false)
		path := filepath.Join(dir, filepath.FromSlash(c.place))
		before, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		has, ok, err := s.Has(t.Context(), c.p)
		if err != nil || has != path || !ok {
			t.Errorf("Has returned %s, %v, %v, want %s, true", has, ok, err, path)
		}
		checkPut(t, s, c, dir, true)
		after, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		if !os.SameFile(before, after) || !before.ModTime().Equal(after.ModTime()) {
			t.Error("the second Put wrote the package again")
		}
		checkSinkFiles(t, dir, c.files)
	})
}

func TestSinkChecksSpaceFirst(t *testing.T) {
	t.Parallel()
	eachSink(t, func(t *testing.T, c sinkCase, dir string) {
		s := sinkAt(t, c, dir)
		p := c.p
		p.Size = 1 << 60
		_, _, err := s.Put(t.Context(), p, func(context.Context) (io.ReadCloser, error) {
			t.Error("the zip was opened")
			return nil, fs.ErrInvalid
		})
		if !errors.Is(err, syscall.ENOSPC) {
			t.Errorf("Put: %v, want ENOSPC", err)
		}
		if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("the directory was created without a package: %v", err)
		}
	})
}

func TestSinkNeverOverwrites(t *testing.T) {
	t.Parallel()
	eachSink(t, func(t *testing.T, c sinkCase, dir string) {
		s := sinkAt(t, c, dir)
		checkPut(t, s, c, dir, false)
		other := sinkZip(t, "two", "terraform-provider-x_v1.2.0")
		p := sinkPackage(t, other)
		p.Filename = c.p.Filename
		path, _, err := s.Put(t.Context(), p, opening(bytes.NewReader(other)))
		if !errors.Is(err, pull.ErrExists) || !strings.Contains(err.Error(), path+" ") || !strings.Contains(err.Error(), "different content") {
			t.Errorf("Put: error %v, want ErrExists about other contents", err)
		}
		checkSinkFiles(t, dir, c.files)
	})
}

func TestSinkRefusesOtherContent(t *testing.T) {
	t.Parallel()
	eachSink(t, func(t *testing.T, c sinkCase, dir string) {
		checkObstacle(t, c, filepath.Join(dir, "file"), func(path string) error { return os.WriteFile(path, []byte("mine"), 0o644) })
		checkObstacle(t, c, filepath.Join(dir, "directory"), func(path string) error { return os.Mkdir(path, 0o755) })
	})
}

// checkObstacle checks that Put rejects different content at the package's path, and
// that Put keeps this content.
func checkObstacle(t *testing.T, c sinkCase, dir string, put func(path string) error) {
	t.Helper()
	path := filepath.Join(dir, filepath.FromSlash(c.place))
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := put(path); err != nil {
		t.Fatal(err)
	}
	before := sinkFiles(t, dir)
	_, _, err := sinkAt(t, c, dir).Put(t.Context(), c.p, opening(bytes.NewReader(c.zip)))
	if !errors.Is(err, pull.ErrExists) || !strings.Contains(err.Error(), path+" ") {
		t.Errorf("error %v, want ErrExists", err)
	}
	checkSinkFiles(t, dir, before)
}

func TestSinkStoresNoPartialPackages(t *testing.T) {
	t.Parallel()
	broken := errors.New("connection reset")
	eachSink(t, func(t *testing.T, c sinkCase, dir string) {
		wrong := slices.Clone(c.zip)
		wrong[len(wrong)/2] ^= 1
		var mismatch *sums.MismatchError
		verified := func(data []byte) io.Reader {
			return sums.NewReader(bytes.NewReader(data), c.p.Filename, c.p.Size, c.p.Digest)
		}
		tests := []struct {
			test string
			r    io.Reader
			want func(error) bool
		}{
			{
				"connection that breaks", io.MultiReader(bytes.NewReader(c.zip[:len(c.zip)/2]), iotest.ErrReader(broken)),
				func(err error) bool { return errors.Is(err, broken) },
			},
			{
				"connection that breaks after the last byte", io.MultiReader(bytes.NewReader(c.zip), iotest.ErrReader(broken)),
				func(err error) bool { return errors.Is(err, broken) },
			},
			{
				"wrong content", verified(wrong),
				func(err error) bool { return errors.As(err, &mismatch) },
			},
			{
				"short content", verified(c.zip[:len(c.zip)-1]),
				func(err error) bool { return errors.Is(err, io.ErrUnexpectedEOF) },
			},
		}
		for _, test := range tests {
			s := sinkAt(t, c, dir)
			if _, _, err := s.Put(t.Context(), c.p, opening(test.r)); !test.want(err) {
				t.Errorf("%s: unexpected error %v", test.test, err)
			}
			checkSinkFiles(t, dir, map[string]string{})
		}
		// Leftover files don't affect the next run.
		checkPut(t, sinkAt(t, c, dir), c, dir, false)
		checkSinkFiles(t, dir, c.files)
	})
}

func TestSinkIsInterrupted(t *testing.T) {
	t.Parallel()
	eachSink(t, func(t *testing.T, c sinkCase, dir string) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		rest := bytes.NewReader(c.zip)
		body := io.TeeReader(iotest.OneByteReader(rest), cancelAfter(100, cancel))
		if _, _, err := sinkAt(t, c, dir).Put(ctx, c.p, opening(body)); !errors.Is(err, context.Canceled) {
			t.Errorf("error %v, want context.Canceled", err)
		}
		if rest.Len() == 0 {
			t.Error("the complete archive was read")
		}
		checkSinkFiles(t, dir, map[string]string{})
	})
}

// cancelAfter returns a writer that calls cancel after n bytes.
func cancelAfter(n int, cancel context.CancelFunc) io.Writer {
	return writerFunc(func(p []byte) (int, error) {
		if n -= len(p); n <= 0 {
			cancel()
		}
		return len(p), nil
	})
}

type writerFunc func(p []byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }

func TestConcurrentSinks(t *testing.T) {
	t.Parallel()
	eachSink(t, func(t *testing.T, c sinkCase, dir string) {
		const runs = 8
		kept, errs := make([]bool, runs), make([]error, runs)
		// Readers return their first byte only after all runs have found that the path
		// doesn't exist, so that the runs race.
		var started, group sync.WaitGroup
		started.Add(runs)
		for i := range runs {
			s := sinkAt(t, c, dir) // a separate sink, as in a separate process
			group.Go(func() {
				body := bytes.NewReader(c.zip)
				arrive := sync.OnceFunc(started.Done)
				defer arrive() // a run that fails early must not block the others
				_, kept[i], errs[i] = s.Put(t.Context(), c.p, opening(sinkReader(func(p []byte) (int, error) {
					arrive()
					started.Wait()
					return body.Read(p)
				})))
			})
		}
		group.Wait()
		wrote := 0
		for i := range runs {
			if errs[i] != nil {
				t.Errorf("run %d: %v", i, errs[i])
			}
			if !kept[i] {
				wrote++
			}
		}
		if wrote != 1 {
			t.Errorf("%d runs say that they wrote the package, want 1", wrote)
		}
		checkSinkFiles(t, dir, c.files)
	})
}

type sinkReader func(p []byte) (int, error)

func (f sinkReader) Read(p []byte) (int, error) { return f(p) }

func TestSinkRemovesTemporaryFiles(t *testing.T) {
	t.Parallel()
	eachSink(t, func(t *testing.T, c sinkCase, dir string) {
		path := filepath.Join(dir, filepath.FromSlash(c.place))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		litter := filepath.Join(filepath.Dir(path), ".tofu-oci-KILLED.tmp")
		if err := os.WriteFile(litter, []byte("half"), 0o644); err != nil {
			t.Fatal(err)
		}
		long := time.Now().Add(-48 * time.Hour)
		if err := os.Chtimes(litter, long, long); err != nil {
			t.Fatal(err)
		}
		checkPut(t, sinkAt(t, c, dir), c, dir, false)
		checkSinkFiles(t, dir, c.files)
	})
}

func TestSinkIsFile(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	for _, layout := range pull.Layouts() {
		for _, dir := range []string{file, filepath.Join(file, "below"), ""} {
			if runtime.GOOS == "windows" && dir != file && dir != "" {
				continue // on Windows, the path doesn't exist and can't be created later
			}
			if s, err := pull.NewSink(layout, dir, nil); err == nil || s != nil {
				t.Errorf("%s sink of %q: %v, %v; want only an error", layout, dir, s, err)
			}
		}
	}
}

func TestLayouts(t *testing.T) {
	t.Parallel()
	for _, want := range pull.Layouts() {
		if s, err := pull.NewSink(want, t.TempDir(), nil); err != nil || s == nil {
			t.Errorf("NewSink(%q) = %T, %v", want, s, err)
		}
	}
	_, err := pull.NewSink("tar", t.TempDir(), nil)
	if syntax, ok := errors.AsType[*provider.SyntaxError](err); !ok || syntax.Problem != "must be one of zip, packed, unpacked, network" {
		t.Errorf("error %v, want one that lists the layouts", err)
	}
}

// opening returns an opener for a reader. If the reader can seek, each call starts at
// the beginning.
func opening(r io.Reader) pull.Opener {
	return func(context.Context) (io.ReadCloser, error) {
		if seeker, ok := r.(io.Seeker); ok {
			if _, err := seeker.Seek(0, io.SeekStart); err != nil {
				return nil, err
			}
		}
		return io.NopCloser(r), nil
	}
}
