package packagezip_test

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/tofu-oci/tofu-oci/internal/packagezip"
)

// TestHashWriterFailureKeepsCopy checks that copying succeeds even if hashing fails.
func TestHashWriterFailureKeepsCopy(t *testing.T) {
	t.Parallel()
	large := with(0, func(e *forged) { e.stored, e.content = true, strings.Repeat(text, 1500) })
	tests := map[string]struct {
		src     io.Reader
		copyErr error
		hashes  bool
	}{
		"an archive":                        {bytes.NewReader(large.zip()), nil, true},
		"no archive":                        {strings.NewReader(strings.Repeat("<html>", 1<<20)), nil, false},
		"an archive and other bytes":        {io.MultiReader(bytes.NewReader(plain().zip()), strings.NewReader(text)), nil, false},
		"a copy that fails":                 {io.MultiReader(bytes.NewReader(plain().zip()), iotest.ErrReader(errTransfer)), errTransfer, true},
		"nothing":                           {strings.NewReader(""), nil, false},
		"bad names, followed by many bytes": {io.MultiReader(bytes.NewReader(with(0, func(e *forged) { e.name = "/" }).zip()), strings.NewReader(strings.Repeat(text, 1500))), nil, false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := packagezip.NewHashWriter(t.Context())
			defer w.Close()
			var to bytes.Buffer
			n, err := io.Copy(io.MultiWriter(&to, w), test.src)
			if !errors.Is(err, test.copyErr) || n != int64(to.Len()) {
				t.Errorf("copied %d bytes, %v; want %v", n, err, test.copyErr)
			}
			c, err := w.Contents()
			if (err == nil) != test.hashes {
				t.Errorf("hashing: %v", err)
			}
			if test.hashes {
				want, err := hashRandom(t.Context(), to.Bytes())
				if err != nil || want.H1 != c.H1 {
					t.Errorf("got H1 %s, want %s of random access, %v", c.H1, want.H1, err)
				}
			}
		})
	}
}

// TestHashWriterIsClosed closes the writer before the end of an archive.
func TestHashWriterIsClosed(t *testing.T) {
	t.Parallel()
	data := with(0, func(e *forged) { e.stored, e.content = true, strings.Repeat(text, 1500) }).zip()
	w := packagezip.NewHashWriter(t.Context())
	written := make(chan error)
	go func() {
		// An HTTP client can read the request body after it has received the response.
		_, err := io.Copy(w, bytes.NewReader(bytes.Repeat(data, 3)))
		written <- err
	}()
	if err := w.Close(); err != nil {
		t.Error(err)
	}
	if err := <-written; err != nil {
		t.Errorf("writing: %v", err)
	}
	if c, err := w.Contents(); err == nil {
		t.Errorf("a part of an archive has the hash %s", c.H1)
	}
	if err := w.Close(); err != nil {
		t.Error(err)
	}
}
