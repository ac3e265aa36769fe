package transfer_test

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"testing"
	"testing/iotest"

	"github.com/tofu-oci/tofu-oci/internal/transfer"
)

var errSource = errors.New("the source broke")

// random returns n random bytes. The pipe can't buffer that many bytes.
func random(n int) []byte {
	r := rand.New(rand.NewPCG(1, uint64(n)))
	data := make([]byte, n)
	for i := range data {
		data[i] = byte(r.UintN(256))
	}
	return data
}

func TestReadAhead(t *testing.T) {
	t.Parallel()
	large := random(3 << 20)
	tests := []struct {
		test string
		src  io.Reader
		want []byte
		err  error
	}{
		{"empty", bytes.NewReader(nil), nil, nil},
		{"small", bytes.NewReader(large[:1]), large[:1], nil},
		{"exactly one buffer", bytes.NewReader(large[:256<<10]), large[:256<<10], nil},
		{"more than all buffers", bytes.NewReader(large), large, nil},
		{"the last bytes come with the end", iotest.DataErrReader(bytes.NewReader(large)), large, nil},
		{"in small pieces", iotest.HalfReader(bytes.NewReader(large[:1<<20])), large[:1<<20], nil},
		{"an error at once", iotest.ErrReader(errSource), nil, errSource},
		{"an error after bytes", io.MultiReader(bytes.NewReader(large), iotest.ErrReader(errSource)), large, errSource},
	}
	for _, test := range tests {
		t.Run(test.test, func(t *testing.T) {
			t.Parallel()
			a := transfer.ReadAhead(test.src)
			defer a.Close()
			got, err := io.ReadAll(a)
			if !bytes.Equal(got, test.want) || !errors.Is(err, test.err) || (err == nil) != (test.err == nil) {
				t.Errorf("%d bytes, %v; want %d and %v", len(got), err, len(test.want), test.err)
			}
		})
	}
}

func TestCopy(t *testing.T) {
	t.Parallel()
	large := random(3 << 20)
	for _, n := range []int{0, 1, 256 << 10, 256<<10 + 1, len(large)} {
		for _, size := range []int64{-1, int64(n), int64(n) + 1} {
			var got bytes.Buffer
			written, err := transfer.Copy(&got, bytes.NewReader(large[:n]), size)
			if err != nil || written != int64(n) || !bytes.Equal(got.Bytes(), large[:n]) {
				t.Errorf("%d bytes, of %d expected: %d are said to be copied, %d are, %v", n, size, written, got.Len(), err)
			}
			broken := io.MultiReader(bytes.NewReader(large[:n]), iotest.ErrReader(errSource))
			if written, err := transfer.Copy(io.Discard, broken, size); !errors.Is(err, errSource) || written != int64(n) {
				t.Errorf("%d bytes, of %d expected, then an error: %d, %v", n, size, written, err)
			}
		}
	}
	full := writer(func([]byte) (int, error) { return 0, errSource })
	if _, err := transfer.Copy(full, &endless{}, -1); !errors.Is(err, errSource) {
		t.Errorf("writing fails: %v", err)
	}
}

type writer func([]byte) (int, error)

func (w writer) Write(p []byte) (int, error) { return w(p) }

// endless is an endless source that counts the bytes read.
type endless struct{ read int }

func (e *endless) Read(p []byte) (int, error) {
	e.read += len(p)
	return len(p), nil
}

// TestCloseEndsReading checks that the source is not used after Close has returned. The
// race detector would report such a use.
func TestCloseEndsReading(t *testing.T) {
	t.Parallel()
	src := &endless{}
	a := transfer.ReadAhead(src)
	if _, err := io.CopyN(io.Discard, a, 1000); err != nil {
		t.Fatal(err)
	}
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	if src.read < 1000 || src.read > 2<<20 {
		t.Errorf("%d bytes were read ahead, want at least 1000 and at most 2 MiB", src.read)
	}
	if _, err := io.Copy(io.Discard, a); !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("reading after Close: %v", err)
	}
	if err := a.Close(); err != nil {
		t.Error(err)
	}
}

// TestCloseEndsSlowReading covers a source that blocks forever.
func TestCloseEndsSlowReading(t *testing.T) {
	t.Parallel()
	a := transfer.ReadAhead(&nothing{})
	if err := a.Close(); err != nil {
		t.Error(err)
	}
}

type nothing struct{}

func (*nothing) Read([]byte) (int, error) { return 0, nil }

func TestPipe(t *testing.T) {
	t.Parallel()
	data := random(3 << 20)
	p := transfer.NewPipe()
	written := make(chan error)
	go func() {
		// Write a single byte first, and more bytes in each subsequent write.
		var err error
		for rest, n := data, 1; len(rest) > 0 && err == nil; n *= 3 {
			n = min(n, len(rest))
			_, err = p.Write(rest[:n])
			rest = rest[n:]
		}
		p.CloseWrite(errSource)
		written <- err
	}()
	got, err := io.ReadAll(p)
	if !bytes.Equal(got, data) || !errors.Is(err, errSource) {
		t.Errorf("read %d bytes, %v", len(got), err)
	}
	if err := <-written; err != nil {
		t.Errorf("writing: %v", err)
	}
	if _, err := p.Write(data); !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("writing after the end: %v", err)
	}
	p.CloseWrite(nil)
	if _, err := p.Read(make([]byte, 1)); !errors.Is(err, errSource) {
		t.Errorf("reading again after a second end: %v", err)
	}
}

// TestReaderUnblocksWriter checks that a blocked write returns when the reader stops
// reading.
func TestReaderUnblocksWriter(t *testing.T) {
	t.Parallel()
	for name, write := range map[string]func(*transfer.Pipe) error{
		"Write": func(p *transfer.Pipe) error {
			_, err := p.Write(make([]byte, 4<<20))
			return err
		},
		"ReadFrom": func(p *transfer.Pipe) error {
			_, err := p.ReadFrom(&endless{})
			return err
		},
	} {
		p := transfer.NewPipe()
		ended := make(chan error)
		go func() { ended <- write(p) }()
		if _, err := p.Read(make([]byte, 1)); err != nil {
			t.Fatal(err)
		}
		p.CloseRead()
		p.CloseRead() // a second call has no effect
		if err := <-ended; !errors.Is(err, io.ErrClosedPipe) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
