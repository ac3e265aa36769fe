package transfer_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	"github.com/tofu-oci/tofu-oci/internal/transfer"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

const (
	mebibyte = 1 << 20
	// limit is the maximum total memory of all readers.
	limit = 32 * mebibyte
)

var errBroken = errors.New("broken for good")

// pattern is content in which all parts differ.
var pattern = sync.OnceValue(func() []byte {
	data := make([]byte, 60*mebibyte+12345)
	_, _ = rand.NewChaCha8([32]byte{}).Read(data)
	return data
})

// store provides content. It records all requests and the memory in use at each
// request.
type store struct {
	content []byte
	windows *transfer.BufferPool
	// fault, if not nil, can replace the response to the nth request, starting at 1. If
	// fault returns nil, the response is honest.
	fault func(n int, r transfer.Range) (io.ReadCloser, error)

	mu sync.Mutex
	// These fields count requests for ranges, requests for the whole content, currently
	// open bodies, the maximum of open bodies, and rejected requests.
	ranged, wholes, open, most, refused int
	used                                int
}

type counted struct {
	io.Reader
	close func()
}

func (c *counted) Close() error { c.close(); return nil }

// body returns a response body, and counts it while it is open. Like a response body,
// it fails when ctx is canceled.
func (s *store) body(ctx context.Context, r io.Reader) io.ReadCloser {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.open++
	s.most = max(s.most, s.open)
	return &counted{&slow{ctx, r}, sync.OnceFunc(func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.open--
	})}
}

// slow takes a millisecond per MiB and fails when its context is canceled.
type slow struct {
	ctx context.Context //nolint:containedctx // the request body also has a context
	r   io.Reader
}

func (s *slow) Read(p []byte) (int, error) {
	select {
	case <-s.ctx.Done():
		return 0, s.ctx.Err()
	case <-time.After(time.Millisecond):
		return s.r.Read(p[:min(len(p), mebibyte)])
	}
}

func (s *store) ranges() transfer.RangeSource {
	return transfer.RangeSource{
		Size: int64(len(s.content)),
		Open: func(ctx context.Context, r transfer.Range) (io.ReadCloser, error) {
			s.mu.Lock()
			s.ranged++
			n := s.ranged
			s.used = max(s.used, s.windows.Used())
			s.mu.Unlock()
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			if s.fault != nil {
				body, err := s.fault(n, r)
				if err != nil {
					return nil, err
				}
				if body != nil {
					return s.body(ctx, body), nil
				}
			}
			return s.body(ctx, bytes.NewReader(s.content[r.From:r.End])), nil
		},
		Whole: func(ctx context.Context) (io.ReadCloser, error) {
			s.mu.Lock()
			s.wholes++
			s.mu.Unlock()
			return s.body(ctx, bytes.NewReader(s.content)), nil
		},
		Pause: func(ctx context.Context, _ int, _ error) error {
			select {
			case <-ctx.Done():
				return ctx.Err()
			case <-time.After(time.Second):
				return nil
			}
		},
		OnRefused: func(error) {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.refused++
		},
	}
}

// expected is a writer that fails if the data is not the expected rest of the content.
type expected struct{ rest []byte }

func (e *expected) Write(p []byte) (int, error) {
	if !bytes.HasPrefix(e.rest, p) {
		return 0, errors.New("wrong bytes")
	}
	e.rest = e.rest[len(p):]
	return len(p), nil
}

// read reads the content and returns the number of correct bytes.
func read(t *testing.T, s *store) (int64, error) {
	t.Helper()
	r, err := transfer.NewRangeReader(t.Context(), s.ranges(), s.windows)
	if err != nil {
		return 0, err
	}
	n, err := io.Copy(&expected{rest: s.content}, r)
	_ = r.Close()
	if s.open != 0 || s.windows.Used() != 0 {
		t.Errorf("%d answers are open and %d bytes in use after the end", s.open, s.windows.Used())
	}
	return n, err
}

// TestReader reads contents of various sizes. The synctest bubble ends only when all
// goroutines have exited.
func TestReader(t *testing.T) {
	t.Parallel()
	for _, size := range []int{1, mebibyte, 4 * mebibyte, 4*mebibyte + 1, 16 * mebibyte, 28*mebibyte - 1, 60*mebibyte + 12345} {
		synctest.Test(t, func(t *testing.T) {
			s := &store{content: pattern()[:size], windows: &transfer.BufferPool{}}
			got, err := read(t, s)
			if err != nil || got != int64(size) {
				t.Errorf("%d of %d bytes, %v", got, size, err)
			}
			// For a single reader, each chunk is 4 MiB in size.
			if want := (size + 4*mebibyte - 1) / (4 * mebibyte); s.ranged != want || s.wholes != 0 {
				t.Errorf("%d bytes: %d requests, not %d", size, s.ranged, want)
			}
			if s.most > transfer.Connections || size > limit && s.most < transfer.Connections {
				t.Errorf("%d bytes: %d connections", size, s.most)
			}
		})
	}
}

// TestReadersShareMemory checks that many readers use no more memory than a single
// reader.
func TestReadersShareMemory(t *testing.T) {
	t.Parallel()
	for _, readers := range []int{1, 2, 5, 17} {
		synctest.Test(t, func(t *testing.T) {
			var all sync.WaitGroup
			windows := &transfer.BufferPool{}
			stores := make([]*store, readers)
			for i := range stores {
				stores[i] = &store{content: pattern()[i*mebibyte:][:17*mebibyte], windows: windows}
				all.Go(func() {
					r, err := transfer.NewRangeReader(t.Context(), stores[i].ranges(), windows)
					if err != nil {
						t.Error(err)
						return
					}
					defer func() { _ = r.Close() }()
					if n, err := io.Copy(&expected{rest: stores[i].content}, r); n != int64(len(stores[i].content)) || err != nil {
						t.Errorf("%d bytes, %v", n, err)
					}
				})
			}
			all.Wait()
			used := 0
			for _, s := range stores {
				used = max(used, s.used)
			}
			if used > limit || used < limit/4 || windows.Used() != 0 {
				t.Errorf("%d readers: %d bytes were in use, and %d are", readers, used, windows.Used())
			}
		})
	}
}

// TestFaults checks the result for each server fault.
func TestFaults(t *testing.T) {
	t.Parallel()
	const size = 40 * mebibyte // ten chunks
	content := pattern()[:size]
	unlike := transfer.ErrRangeMismatch
	busy := &provider.StatusError{Status: 503}
	broken := func(r transfer.Range, n int64) io.ReadCloser {
		return io.NopCloser(io.MultiReader(bytes.NewReader(content[r.From:][:n]), iotest.ErrReader(io.ErrUnexpectedEOF)))
	}
	type fault = func(n int, r transfer.Range) (io.ReadCloser, error)
	for name, test := range map[string]struct {
		fault   fault
		ranged  int // maximum
		wholes  int
		refused bool // whether OnRefused is called
		want    error
	}{
		"no ranges at all": {func(int, transfer.Range) (io.ReadCloser, error) { return nil, unlike }, 1, 1, true, nil},
		"no ranges later": {func(n int, _ transfer.Range) (io.ReadCloser, error) {
			if n > 3 {
				return nil, unlike
			}
			return nil, nil
		}, 11, 1, true, nil},
		"the first is refused": {func(n int, _ transfer.Range) (io.ReadCloser, error) { return nil, busy }, 1, 1, false, nil},
		"one connection": {func(n int, _ transfer.Range) (io.ReadCloser, error) {
			if 1 < n && n < 9 {
				return nil, busy
			}
			return nil, nil
		}, 9, 0, true, nil},
		"three connections": {func(n int, _ transfer.Range) (io.ReadCloser, error) {
			if 3 < n && n < 9 {
				return nil, busy
			}
			return nil, nil
		}, 11, 0, true, nil},
		"each breaks off once": {func(_ int, r transfer.Range) (io.ReadCloser, error) {
			if r.From%(4*mebibyte) == 0 {
				return broken(r, mebibyte+1), nil
			}
			return nil, nil
		}, 20, 0, false, nil},
		"one breaks off three times, but not alone": {func(n int, r transfer.Range) (io.ReadCloser, error) {
			if r.From >= 8*mebibyte && r.From < 8*mebibyte+15 {
				return broken(r, 5), nil
			}
			return nil, nil
		}, 13, 0, false, nil},
		"each breaks off always": {func(n int, r transfer.Range) (io.ReadCloser, error) { return broken(r, 5), nil }, 26, 0, false, io.ErrUnexpectedEOF},
		"one fails for good": {func(n int, r transfer.Range) (io.ReadCloser, error) {
			if r.From == 8*mebibyte {
				return nil, errBroken
			}
			return nil, nil
		}, 11, 0, false, errBroken},
		"another content after a break": {func(n int, r transfer.Range) (io.ReadCloser, error) {
			switch r.From {
			case 8 * mebibyte:
				return broken(r, 5), nil
			case 8*mebibyte + 5:
				return nil, unlike
			}
			return nil, nil
		}, 11, 1, true, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := &store{content: content, windows: &transfer.BufferPool{}, fault: test.fault}
				got, err := read(t, s)
				if !errors.Is(err, test.want) || err == nil && got != size {
					t.Errorf("%d of %d bytes, %v", got, size, err)
				}
				if s.ranged > test.ranged || s.wholes != test.wholes || (s.refused > 0) != test.refused {
					t.Errorf("got %d requests for ranges, %d for the whole content, %d calls of OnRefused; want at most %d, %d, %t", s.ranged, s.wholes, s.refused, test.ranged, test.wholes, test.refused)
				}
			})
		})
	}
}

// TestReaderEnds covers canceled contexts, closed readers, and unused readers.
func TestReaderEnds(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		end  func(cancel context.CancelFunc, r io.Closer)
		want error
	}{
		"context": {func(cancel context.CancelFunc, _ io.Closer) { cancel() }, context.Canceled},
		"closed":  {func(_ context.CancelFunc, r io.Closer) { _ = r.Close() }, nil},
	} {
		for _, after := range []time.Duration{0, time.Microsecond, 2 * time.Millisecond, 5 * time.Millisecond} {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				s := &store{content: pattern(), windows: &transfer.BufferPool{}}
				r, err := transfer.NewRangeReader(ctx, s.ranges(), s.windows)
				if err != nil {
					t.Fatal(err)
				}
				time.AfterFunc(after, func() { test.end(cancel, r) })
				_, err = io.Copy(io.Discard, r)
				if err == nil || !errors.Is(err, test.want) && test.want != nil {
					t.Errorf("%s: %v", name, err)
				}
				_ = r.Close()
				if _, err := r.Read(make([]byte, 1)); err == nil || name == "closed" && !errors.Is(err, context.Canceled) && !errors.Is(err, fs.ErrClosed) {
					t.Errorf("%s, after the end: %v", name, err)
				}
				if s.open != 0 || s.windows.Used() != 0 {
					t.Errorf("%s: %d answers are open and %d bytes in use", name, s.open, s.windows.Used())
				}
			})
		}
	}
}
