package git

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/tofu-oci/tofu-oci/internal/bounded"
	"github.com/tofu-oci/tofu-oci/internal/extprog"
)

// lfsPrefix is the start of each LFS pointer. See
// https://github.com/git-lfs/git-lfs/blob/main/docs/spec.md.
const lfsPrefix = "version https://git-lfs.github.com/spec/"

// maxPointer is the size that LFS pointers don't reach.
const maxPointer = 1024

// blobs reads files with one git process, which starts when the first file is read.
type blobs struct {
	repo     repository
	allowLFS bool

	mu     sync.Mutex // held while a file is open
	cancel context.CancelFunc
	stop   func()
	in     io.WriteCloser
	out    *bufio.Reader
}

// opener returns the Open function of a file.
func (b *blobs) opener(name string, e entry) func(context.Context) (io.ReadCloser, error) {
	return func(ctx context.Context) (io.ReadCloser, error) {
		f, err := b.open(ctx, e)
		if err != nil {
			return nil, fmt.Errorf("reading %s: %w", name, err)
		}
		if b.allowLFS || e.size >= maxPointer || e.size < int64(len(lfsPrefix)) {
			return f, nil
		}
		if start, err := b.out.Peek(len(lfsPrefix)); err == nil && bytes.HasPrefix(start, []byte(lfsPrefix)) {
			_ = f.Close()
			return nil, fmt.Errorf("%w: %q is a Git LFS pointer, and LFS content is not fetched", ErrUnsafe, name)
		}
		return f, nil
	}
}

// read returns the content of a small file.
func (b *blobs) read(e entry) ([]byte, error) {
	f, err := b.open(context.Background(), e)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(f)
}

// open requests a file. The other files wait until it is closed.
func (b *blobs) open(ctx context.Context, e entry) (io.ReadCloser, error) {
	b.mu.Lock()
	err := b.request(e)
	if err != nil {
		b.end()
		b.mu.Unlock()
		return nil, err
	}
	f := &blob{b: b, left: e.size}
	f.r = bounded.Reader(ctx, io.LimitReader(b.out, e.size))
	return f, nil
}

// request sends the ID of a file and reads the header of the response.
func (b *blobs) request(e entry) error {
	if b.in == nil {
		if err := b.start(); err != nil {
			return err
		}
	}
	if _, err := fmt.Fprintln(b.in, e.id); err != nil {
		return err
	}
	header, err := b.out.ReadString('\n')
	if err != nil {
		return err
	}
	if want := fmt.Sprintf("%s blob %d\n", e.id, e.size); header != want {
		return fmt.Errorf("git cat-file: unexpected header %q, want %q", header, want)
	}
	return nil
}

// start starts git.
func (b *blobs) start() error {
	ctx, cancel := context.WithCancel(context.Background())
	cmd, err := b.repo.command(ctx, "cat-file", "--batch")
	if err != nil {
		cancel()
		return err
	}
	in, err := cmd.StdinPipe()
	out, outErr := cmd.StdoutPipe()
	group, groupErr := extprog.NewGroup(cmd)
	if err := errors.Join(err, outErr, groupErr); err != nil {
		cancel()
		return err
	}
	if err := cmd.Start(); err != nil {
		cancel()
		group.Close()
		return err
	}
	group.Add(cmd.Process)
	b.in, b.out = in, bufio.NewReader(out)
	b.stop = func() {
		_ = in.Close()
		cancel()
		_ = cmd.Wait()
		group.Close()
	}
	return nil
}

// end stops git. A later request starts it again.
func (b *blobs) end() {
	if b.stop != nil {
		b.stop()
	}
	b.in, b.stop = nil, nil
}

// close stops git.
func (b *blobs) close() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.end()
}

// blob is an open file.
type blob struct {
	b    *blobs
	r    io.Reader
	left int64
	once sync.Once
}

// Read returns an error if git exits before the end of the file.
func (f *blob) Read(p []byte) (int, error) {
	n, err := f.r.Read(p)
	if f.left -= int64(n); err == io.EOF && f.left > 0 {
		err = io.ErrUnexpectedEOF
	}
	return n, err
}

// Close lets the next file be opened. If f was not read completely, git is restarted.
func (f *blob) Close() error {
	f.once.Do(func() {
		defer f.b.mu.Unlock()
		if f.left > 0 {
			f.b.end()
			return
		}
		_, _ = f.b.out.Discard(1) // the newline after the content
	})
	return nil
}
