package packagezip

import (
	"bufio"
	"context"
	"hash/crc32"
	"io"

	"github.com/klauspost/compress/flate"
	"github.com/klauspost/compress/zip"

	"github.com/tofu-oci/tofu-oci/internal/bounded"
)

// inputBuffer is the size of the decompressor's read buffer.
const inputBuffer = 64 << 10

// input reads the bytes of an archive. It tracks the offset and stores errors from the
// source separately from errors from the decompressor.
type input struct {
	src    io.Reader
	limits limits
	// buffer is a *bufio.Reader, which lets the decompressor stop exactly at the end of
	// its stream.
	buffer  *bufio.Reader
	inflate io.Reader
	read    int64
	err     error // error from the source
}

func newInput(limits limits) *input {
	in := &input{limits: limits}
	in.buffer = bufio.NewReaderSize(in, inputBuffer)
	return in
}

// reset starts reading a different source.
func (in *input) reset(ctx context.Context, src io.Reader) {
	in.src, in.read, in.err = bounded.Reader(ctx, src), 0, nil
	in.buffer.Reset(in)
}

// Read implements [io.Reader] for the buffer.
func (in *input) Read(p []byte) (int, error) {
	if in.err != nil {
		return 0, in.err
	}
	n, err := in.src.Read(p)
	if in.read += int64(n); in.read > in.limits.archive {
		n, err = 0, in.limits.tooLarge()
	}
	in.err = err
	return n, err
}

// offset returns the offset of the next unused byte.
func (in *input) offset() int64 { return in.read - int64(in.buffer.Buffered()) }

// failure returns the source's error, which takes precedence over errors in the data.
func (in *input) failure() error {
	if in.err == io.EOF {
		return nil
	}
	return in.err
}

// short returns the source's error, or an error for a truncated archive.
func (in *input) short(name string) error {
	if err := in.failure(); err != nil {
		return err
	}
	return entryError(name, "is truncated")
}

// content reads an entry's content. It returns an error if the content exceeds the
// limit. After reading to the end, call problem to check the content against the
// header.
type content struct {
	in   *input
	name string
	body io.Reader
	// limit is the maximum size. If the content exceeds it, reading fails with tooLong.
	limit   uint64
	tooLong error

	start int64
	crc   uint32
	size  uint64
}

// open starts reading the next entry's content.
func (in *input) open(h header, limit uint64, tooLong error) *content {
	c := &content{in: in, name: h.name, limit: limit, tooLong: tooLong, start: in.offset()}
	if h.method == zip.Store {
		c.body = io.LimitReader(in.buffer, int64(min(h.packed, limit+1))) //nolint:gosec // limits are far below 2^63
		return c
	}
	if resetter, ok := in.inflate.(flate.Resetter); ok {
		_ = resetter.Reset(in.buffer, nil) // fails only with a dictionary
	} else {
		in.inflate = flate.NewReader(in.buffer)
	}
	c.body = in.inflate
	return c
}

// Read implements [io.Reader].
func (c *content) Read(p []byte) (int, error) {
	n, err := c.body.Read(p)
	c.crc = crc32.Update(c.crc, crc32.IEEETable, p[:n])
	if c.size += uint64(n); c.size > c.limit { //nolint:gosec // n is not negative
		return 0, c.tooLong
	}
	if err == nil || err == io.EOF {
		return n, err
	}
	if failure := c.in.failure(); failure != nil {
		return n, failure
	}
	if c.in.err == io.EOF && c.in.buffer.Buffered() == 0 {
		return n, entryError(c.name, "has truncated content")
	}
	return n, entryError(c.name, "has damaged content: %v", err)
}

// packed returns the compressed size read so far.
func (c *content) packed() uint64 {
	return uint64(c.in.offset() - c.start) //nolint:gosec // offsets only grow
}

// problem returns an error if the content does not match the header.
func (c *content) problem(want header) error {
	if failure := c.in.failure(); failure != nil {
		return failure
	}
	switch packed := c.packed(); {
	case c.size != want.size:
		return entryError(c.name, "is %d bytes long, but declares %d", c.size, want.size)
	case packed != want.packed:
		return entryError(c.name, "has a compressed size of %d bytes, but declares %d", packed, want.packed)
	case c.crc != want.crc:
		return entryError(c.name, "has content that does not match its CRC-32")
	}
	return nil
}
