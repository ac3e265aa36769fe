package publish_test

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/tofu-oci/tofu-oci/pkg/publish"
)

// TestVerifyingReader checks that the reader returns all of the correct content, but
// never all of the wrong content.
func TestVerifyingReader(t *testing.T) {
	t.Parallel()
	wrong := errors.New("wrong")
	readers := map[string]func(string) io.Reader{
		"complete":         func(s string) io.Reader { return strings.NewReader(s) },
		"byte by byte":     func(s string) io.Reader { return iotest.OneByteReader(strings.NewReader(s)) },
		"data with EOF":    func(s string) io.Reader { return iotest.DataErrReader(strings.NewReader(s)) },
		"half of a buffer": func(s string) io.Reader { return iotest.HalfReader(strings.NewReader(s)) },
	}
	for name, reader := range readers {
		for _, text := range []string{"", "a", "ab", strings.Repeat("abcdefg", 10_000)} {
			if err := iotest.TestReader(publish.NewVerifyingReader(reader(text), func() error { return nil }), []byte(text)); err != nil {
				t.Errorf("%s, %d bytes: %v", name, len(text), err)
			}
			calls := 0
			got, err := io.ReadAll(publish.NewVerifyingReader(reader(text), func() error { calls++; return wrong }))
			if !errors.Is(err, wrong) || calls != 1 || len(text) > 0 && len(got) != len(text)-1 || !bytes.HasPrefix([]byte(text), got) {
				t.Errorf("%s: got %d of %d bytes, %v after %d calls, want all but one byte, %v after 1", name, len(got), len(text), err, calls, wrong)
			}
		}
	}
	broken := errors.New("broken")
	if _, err := io.ReadAll(publish.NewVerifyingReader(iotest.ErrReader(broken), func() error { return nil })); !errors.Is(err, broken) {
		t.Errorf("got %v", err)
	}
}
