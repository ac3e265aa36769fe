package packagezip_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/klauspost/compress/zip"

	"github.com/tofu-oci/tofu-oci/internal/packagezip"
)

// TestHashAny checks that an archive is read a second time only if it cannot be
// streamed, and that no temporary file remains.
func TestHashAny(t *testing.T) {
	t.Parallel()
	streamable := deflated(t, entry{name: "docs/"}, entry{name: "terraform-provider-x", content: "x"})
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	if _, err := w.CreateHeader(&zip.FileHeader{Name: "terraform-provider-x", Method: zip.Store}); err != nil { // a data descriptor follows
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		data   []byte
		opened int
	}{"streamable": {streamable, 1}, "not streamable": {b.Bytes(), 2}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			want, err := mustOpen(t, test.data).Contents(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			for _, size := range []int64{-1, int64(len(test.data))} {
				dir := t.TempDir()
				o := &opener{data: test.data}
				got, err := packagezip.HashAny(t.Context(), o.open, size, dir)
				if err != nil || got.H1 != want.H1 || got.H1Unpacked != want.H1Unpacked {
					t.Errorf("got %v, %v, want %v", got, err, want)
				}
				if o.opened != test.opened || o.closed != o.opened {
					t.Errorf("opened %d times, closed %d", o.opened, o.closed)
				}
				if left, err := os.ReadDir(dir); err != nil || len(left) != 0 {
					t.Errorf("%v is left, %v", left, err)
				}
			}
		})
	}
}

// TestHashAnyFails checks that HashAny returns all errors and closes the archive.
func TestHashAnyFails(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken on purpose")
	streamable := deflated(t, entry{name: "terraform-provider-x", content: "x"})
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	if _, err := w.CreateHeader(&zip.FileHeader{Name: "x", Method: zip.Store}); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	isBroken := func(err error) bool { return errors.Is(err, broken) }
	for name, test := range map[string]struct {
		opener *opener
		dir    string
		want   func(error) bool
	}{
		"not opened":                 {&opener{refuse: map[int]error{1: broken}}, t.TempDir(), isBroken},
		"breaks off":                 {&opener{data: streamable, fail: map[int]error{1: broken}}, t.TempDir(), isBroken},
		"not opened again":           {&opener{data: b.Bytes(), refuse: map[int]error{2: broken}}, t.TempDir(), isBroken},
		"breaks off the second time": {&opener{data: b.Bytes(), fail: map[int]error{2: broken}}, t.TempDir(), isBroken},
		"no directory":               {&opener{data: b.Bytes()}, t.TempDir() + "/none", func(err error) bool { return errors.Is(err, os.ErrNotExist) }},
		"no archive":                 {&opener{data: []byte(strings.Repeat("no zip ", 20))}, t.TempDir(), func(err error) bool { return errors.Is(err, zip.ErrFormat) }},
		"empty":                      {&opener{}, t.TempDir(), func(err error) bool { return err != nil }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := packagezip.HashAny(t.Context(), test.opener.open, -1, test.dir)
			if !test.want(err) || got.H1 != "" {
				t.Errorf("got %v, %v", got, err)
			}
			if test.opener.opened != test.opener.closed {
				t.Errorf("opened %d times, closed %d", test.opener.opened, test.opener.closed)
			}
		})
	}
}

// opener opens an archive. It fails for some calls, which are counted from 1.
type opener struct {
	data                  []byte
	tries, opened, closed int
	refuse, fail          map[int]error
}

func (o *opener) open(context.Context) (io.ReadCloser, error) {
	o.tries++
	if err := o.refuse[o.tries]; err != nil {
		return nil, err
	}
	o.opened++
	var body io.Reader = bytes.NewReader(o.data)
	if err := o.fail[o.tries]; err != nil {
		body = io.MultiReader(bytes.NewReader(o.data[:len(o.data)/2]), readerFunc(func([]byte) (int, error) { return 0, err }))
	}
	return &counted{body, &o.closed}, nil
}

type counted struct {
	io.Reader
	closed *int
}

func (c *counted) Close() error {
	*c.closed++
	return nil
}
