package store_test

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/opencontainers/go-digest"

	"github.com/tofu-oci/tofu-oci/pkg/sums"
)

func TestKeepAndRead(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "made", "as needed")
	s, events := open(t, dir, false)
	if _, ok := take(t, s, digest.FromString("one")); ok {
		t.Error("the store has a zip that was never stored")
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
	events.check(t, 0, 0)
	noLitter(t, dir)
}

// TestKeepWithoutEOF checks a client that reads exactly the known number of bytes and
// never reads io.EOF.
func TestKeepWithoutEOF(t *testing.T) {
	t.Parallel()
	s, events := open(t, t.TempDir(), false)
	const content = "content"
	body := s.Keep(digest.FromString(content), int64(len(content)), io.NopCloser(strings.NewReader(content)))
	_, err := io.CopyN(io.Discard, body, int64(len(content)))
	must(t, errors.Join(err, body.Close()))
	checkTaken(t, s, content)
	events.check(t, 0, 0)
}

func TestKeepUnknownSize(t *testing.T) {
	t.Parallel()
	s, events := open(t, t.TempDir(), false)
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
	events.check(t, 0, 0)
}

// TestKeepDiscardsPartialContent checks that the reader returns partial content with an
// error, and that the store does not keep this content.
func TestKeepDiscardsPartialContent(t *testing.T) {
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
			s, events := open(t, dir, false)
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
			events.check(t, 0, 0)
			noLitter(t, dir)
			// After that, a complete read succeeds.
			keep(t, s, content)
			checkTaken(t, s, content)
		})
	}
}
