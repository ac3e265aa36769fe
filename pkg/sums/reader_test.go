package sums_test

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
	"github.com/opencontainers/go-digest"

	"github.com/tofu-oci/tofu-oci/pkg/sums"
)

// sources contains functions that make a reader return its bytes in different ways.
var sources = map[string]func(io.Reader) io.Reader{
	"plain":    func(r io.Reader) io.Reader { return r },
	"one byte": iotest.OneByteReader,
	"half":     iotest.HalfReader,
	"data+EOF": iotest.DataErrReader,
	"sluggish": func(r io.Reader) io.Reader { return &sluggish{r: r} },
}

// callers contains functions that read a reader in different ways.
var callers = map[string]func(io.Reader) ([]byte, error){
	"all at once":  io.ReadAll,
	"byte by byte": func(r io.Reader) ([]byte, error) { return io.ReadAll(iotest.OneByteReader(r)) },
	"large buffer": func(r io.Reader) ([]byte, error) {
		var b bytes.Buffer
		_, err := io.CopyBuffer(struct{ io.Writer }{&b}, r, make([]byte, 1<<20))
		return b.Bytes(), err
	},
}

// sluggish returns no bytes and no error before every chunk.
type sluggish struct {
	r     io.Reader
	ready bool
}

func (s *sluggish) Read(p []byte) (int, error) {
	if s.ready = !s.ready; s.ready {
		return 0, nil
	}
	return s.r.Read(p)
}

// eachReader runs a test for every source and caller, with and without a size.
func eachReader(t *testing.T, stream, wanted string, test func(t *testing.T, r io.Reader, size int64, read func(io.Reader) ([]byte, error))) {
	t.Helper()
	for sourceName, source := range sources {
		for callerName, read := range callers {
			for sizeName, size := range map[string]int64{"size": int64(len(wanted)), "no size": -1} {
				t.Run(sourceName+"/"+callerName+"/"+sizeName, func(t *testing.T) {
					t.Parallel()
					r := sums.NewReader(source(strings.NewReader(stream)), "x.zip", size, digest.FromString(wanted))
					test(t, r, size, read)
				})
			}
		}
	}
}

func TestReader(t *testing.T) {
	t.Parallel()
	for name, content := range map[string]string{
		"empty": "", "one byte": "a", "two bytes": "ab", "long": strings.Repeat("content ", 20_000),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			eachReader(t, content, content, func(t *testing.T, r io.Reader, _ int64, read func(io.Reader) ([]byte, error)) {
				got, err := read(r)
				if err != nil || string(got) != content {
					t.Errorf("%d bytes, %v", len(got), err)
				}
				if n, err := r.Read(make([]byte, 1)); n != 0 || err != io.EOF {
					t.Errorf("after the end: %d, %v", n, err)
				}
			})
		})
	}
}

func TestReaderContract(t *testing.T) {
	t.Parallel()
	content := []byte(strings.Repeat("content ", 500))
	r := sums.NewReader(bytes.NewReader(content), "x.zip", -1, digest.FromBytes(content))
	if err := iotest.TestReader(r, content); err != nil {
		t.Error(err)
	}
}

// repeats checks that subsequent reads return the same error.
func repeats(t *testing.T, r io.Reader, err error) {
	t.Helper()
	for range 3 {
		if n, again := r.Read(make([]byte, 10)); n != 0 || !errors.Is(again, err) {
			t.Errorf("after %v: %d, %v", err, n, again)
		}
	}
}

func TestReaderWrongDigest(t *testing.T) {
	t.Parallel()
	for _, size := range []int{1, 2, 3, 100_000} {
		stream, wanted := strings.Repeat("a", size), strings.Repeat("b", size)
		eachReader(t, stream, wanted, func(t *testing.T, r io.Reader, _ int64, read func(io.Reader) ([]byte, error)) {
			got, err := read(r)
			var mismatch *sums.MismatchError
			if !errors.As(err, &mismatch) {
				t.Fatal(err)
			}
			want := sums.MismatchError{Name: "x.zip", Got: digest.FromString(stream).String(), Want: digest.FromString(wanted).String()}
			if diff := cmp.Diff(want, *mismatch); diff != "" {
				t.Error("-want +got:\n" + diff)
			}
			if len(got) >= size {
				t.Errorf("all %d bytes were delivered", len(got))
			}
			repeats(t, r, err)
		})
	}
}

// The digest covers the first bytes, so only the size is wrong.
func TestReaderTooLong(t *testing.T) {
	t.Parallel()
	for _, wanted := range []string{"", "a", strings.Repeat("content ", 10_000)} {
		eachReader(t, wanted+"x", wanted, func(t *testing.T, r io.Reader, size int64, read func(io.Reader) ([]byte, error)) {
			got, err := read(r)
			if size < 0 {
				var mismatch *sums.MismatchError
				if !errors.As(err, &mismatch) || len(got) > len(wanted) {
					t.Errorf("%d bytes, %v", len(got), err)
				}
			} else {
				var tooLong *sums.SizeError
				if !errors.As(err, &tooLong) || tooLong.Got <= size || tooLong.Want != size {
					t.Errorf("%v", err)
				}
				if len(got) >= max(len(wanted), 1) {
					t.Errorf("%d bytes, all that were wanted", len(got))
				}
			}
			if errors.Is(err, io.ErrUnexpectedEOF) {
				t.Errorf("looks like a broken transfer: %v", err)
			}
			repeats(t, r, err)
		})
	}
}

func TestReaderTooShort(t *testing.T) {
	t.Parallel()
	wanted := strings.Repeat("content ", 10_000)
	for _, n := range []int{0, 1, len(wanted) - 1} {
		eachReader(t, wanted[:n], wanted, func(t *testing.T, r io.Reader, size int64, read func(io.Reader) ([]byte, error)) {
			got, err := read(r)
			if size < 0 {
				var mismatch *sums.MismatchError
				if !errors.As(err, &mismatch) || errors.Is(err, io.ErrUnexpectedEOF) {
					t.Error(err)
				}
			} else {
				var tooShort *sums.SizeError
				if !errors.As(err, &tooShort) || !errors.Is(err, io.ErrUnexpectedEOF) {
					t.Fatal(err)
				}
				if diff := cmp.Diff(sums.SizeError{Name: "x.zip", Got: int64(n), Want: size}, *tooShort); diff != "" {
					t.Error("-want +got:\n" + diff)
				}
			}
			if len(got) > n {
				t.Errorf("%d bytes of %d", len(got), n)
			}
			repeats(t, r, err)
		})
	}
}

// withErr returns its content together with an error.
type withErr struct {
	content string
	err     error
}

func (w *withErr) Read(p []byte) (int, error) {
	n := copy(p, w.content)
	w.content = w.content[n:]
	if w.content != "" {
		return n, nil
	}
	return n, w.err
}

// If the source fails, its content might be complete or incomplete, so the reader
// returns the error of the source.
func TestReaderSourceError(t *testing.T) {
	t.Parallel()
	reset := errors.New("connection reset by peer")
	for name, read := range callers {
		for _, size := range []int64{-1, 7} {
			r := sums.NewReader(&withErr{"content", reset}, "x.zip", size, digest.FromString("content"))
			got, err := read(r)
			if !errors.Is(err, reset) || !strings.Contains(err.Error(), "x.zip") || len(got) >= 7 {
				t.Errorf("%s, size %d: %d bytes, %v", name, size, len(got), err)
			}
			repeats(t, r, err)
		}
	}
	r := sums.NewReader(iotest.ErrReader(nil), "x.zip", -1, digest.FromString(""))
	if _, err := r.Read(make([]byte, 1)); !errors.Is(err, io.ErrNoProgress) {
		t.Errorf("a source that returns nothing: %v", err)
	}
}

func TestReaderRefusesDigest(t *testing.T) {
	t.Parallel()
	for _, d := range []digest.Digest{"", "sha256", "sha256:", "sha256:00", digest.NewDigestFromEncoded(digest.SHA512, strings.Repeat("0a", 64)), "md5:0cc175b9c0f1b6a831c399e269772661"} {
		src := strings.NewReader("a")
		r := sums.NewReader(src, "x.zip", 1, d)
		n, err := r.Read(make([]byte, 10))
		if n != 0 || err == nil || src.Len() != 1 {
			t.Errorf("digest %q: %d, %v, %d bytes unread", d, n, err, src.Len())
			continue
		}
		repeats(t, r, err)
	}
}
