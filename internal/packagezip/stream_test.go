package packagezip_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
	"github.com/opencontainers/go-digest"

	"github.com/tofu-oci/tofu-oci/internal/packagezip"
	"github.com/tofu-oci/tofu-oci/internal/testing/patience"
	"github.com/tofu-oci/tofu-oci/pkg/sums"
)

var errTransfer = errors.New("the connection was reset")

// TestSourceErrorsTakePrecedence checks that errors of the source take precedence over errors of
// the archive.
func TestSourceErrorsTakePrecedence(t *testing.T) {
	t.Parallel()
	good := plain().zip()
	crooked := with(0, func(e *forged) { e.name = "../x" }).zip()
	other := digest.FromString("something else")
	verified := func(data []byte, d digest.Digest) io.Reader {
		return sums.NewReader(bytes.NewReader(data), "x.zip", int64(len(data)), d)
	}
	tests := map[string]struct {
		src  io.Reader
		want func(error) bool
	}{
		"right archive, wrong digest":   {verified(good, other), as[*sums.MismatchError]},
		"crooked archive, wrong digest": {verified(crooked, other), as[*sums.MismatchError]},
		"crooked archive, right digest": {verified(crooked, digest.FromBytes(crooked)), isBroken},
		"cut archive, right digest":     {verified(good[:80], digest.FromBytes(good[:80])), isBroken},
		"cut archive, by the transfer":  {sums.NewReader(bytes.NewReader(good[:300]), "x.zip", 900, other), is(io.ErrUnexpectedEOF)},
		"longer than promised":          {sums.NewReader(bytes.NewReader(good), "x.zip", 300, other), as[*sums.SizeError]},
		"reset in a content":            {io.MultiReader(bytes.NewReader(good[:80]), iotest.ErrReader(errTransfer)), is(errTransfer)},
		"reset in the directory":        {io.MultiReader(bytes.NewReader(good[:len(good)-90]), iotest.ErrReader(errTransfer)), is(errTransfer)},
		"reset after everything":        {io.MultiReader(bytes.NewReader(good), iotest.ErrReader(errTransfer)), is(errTransfer)},
		"reset at once":                 {iotest.ErrReader(errTransfer), is(errTransfer)},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			_, err := packagezip.UnpackStream(t.Context(), test.src, dir)
			if !test.want(err) {
				t.Errorf("error %v", err)
			}
			checkModes(t, dir)
		})
	}
}

// as reports whether an error is of type E.
func as[E error](err error) bool {
	var target E
	return errors.As(err, &target)
}

// is returns a function that reports whether an error is want and does not wrap
// ErrArchive.
func is(want error) func(error) bool {
	return func(err error) bool { return errors.Is(err, want) && !isBroken(err) }
}

// checkModes checks that all files in dir still have the mode of unfinished files.
func checkModes(t *testing.T, dir string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if err == nil && info.Mode().Perm()&^0o666 != 0 {
			t.Errorf("%s has mode %v", path, info.Mode())
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestStreamIsInterrupted(t *testing.T) {
	t.Parallel()
	patience.SkipIfShort(t)
	data := with(0, func(e *forged) { e.content = strings.Repeat(text, 5000) }).zip()
	ctx, cancel := context.WithCancel(t.Context())
	cancelling := func() io.Reader {
		return io.MultiReader(bytes.NewReader(data[:1000]), readerFunc(func(p []byte) (int, error) {
			cancel()
			return len(p), nil
		}))
	}
	dir := t.TempDir()
	if _, err := packagezip.UnpackStream(ctx, cancelling(), dir); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want context.Canceled", err)
	}
	checkModes(t, dir)
	if _, err := packagezip.HashStream(ctx, bytes.NewReader(data)); !errors.Is(err, context.Canceled) {
		t.Errorf("HashStream: error %v, want context.Canceled", err)
	}
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

func TestUnpackStreamIntoInvalidDirectory(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	src := &trickle{data: plain().zip()}
	if _, err := packagezip.UnpackStream(t.Context(), src, filepath.Join(dir, "missing")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a missing directory: error %v", err)
	}
	if err := os.WriteFile(filepath.Join(dir, "other"), []byte("mine"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := packagezip.UnpackStream(t.Context(), src, dir); err == nil || !strings.Contains(err.Error(), "not empty") {
		t.Errorf("a directory with files: error %v", err)
	}
	if diff := cmp.Diff(map[string]string{"other": "mine"}, contents(t, dir)); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
	if src.ended || src.n > 0 {
		t.Error("the archive was read")
	}
}

func TestContents(t *testing.T) {
	t.Parallel()
	got, err := packagezip.HashStream(t.Context(), &trickle{data: plain().zip()})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"LICENSE", "docs/index.md", "terraform-provider-x_v1.0.0"}, got.Files); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
	if name, others := got.Executable("x"); name != "terraform-provider-x_v1.0.0" || len(others) > 0 {
		t.Errorf("executable %q, others %q", name, others)
	}
	if got.H1 == got.H1Unpacked {
		t.Error("the archive lists a directory, and both hashes are the same")
	}
}

func TestNotStreamable(t *testing.T) {
	t.Parallel()
	f := with(3, func(e *forged) { e.descriptor.length = 16 })
	data := f.zip()
	_, err := packagezip.HashStream(t.Context(), bytes.NewReader(data))
	var guess *packagezip.NotStreamableError
	if !errors.As(err, &guess) {
		t.Fatalf("error %v, want a *NotStreamableError", err)
	}
	if header := bytes.LastIndex(data, []byte("PK\x03\x04")); guess.Offset != int64(header+30+len("LICENSE")) {
		t.Errorf("stopped at %d, but the last header is at %d", guess.Offset, header)
	}
	if !strings.Contains(err.Error(), "stored") {
		t.Errorf("error %q does not say why", err)
	}
}
