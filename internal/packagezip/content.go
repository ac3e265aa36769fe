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

// inputBuffer is what the inflater works on without asking the source.
const inputBuffer = 64 << 10

// input is the source of an archive's bytes. It knows where it stands, and keeps
// the source's own error apart from what an inflater makes of it.
type input struct {
	src    io.Reader
	limits limits
	// buffer is a *bufio.Reader since the inflater has a fast way through one, in
	// which it takes no byte behind the end of its stream.
	buffer  *bufio.Reader
	inflate io.Reader
	read    int64
	err     error // what ended the source
}

func newInput(limits limits) *input {
	in := &input{limits: limits}
	in.buffer = bufio.NewReaderSize(in, inputBuffer)
	return in
}

// reset begins with another source.
func (in *input) reset(ctx context.Context, src io.Reader) {
	in.src, in.read, in.err = bounded.Reader(ctx, src), 0, nil
	in.buffer.Reset(in)
}

// Read is for the buffer.
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

// offset is where the next byte lies that was not used yet.
func (in *input) offset() int64 { return in.read - int64(in.buffer.Buffered()) }

// failure reports whether the source failed, which excuses whatever was read.
func (in *input) failure() error {
	if in.err == io.EOF {
		return nil
	}
	return in.err
}

// short is the error where bytes are missing.
func (in *input) short(name string) error {
	if err := in.failure(); err != nil {
		return err
	}
	return entryError(name, "is cut short")
}

// content is what an entry holds, while it is read. It ends with an error when
// it would be longer than allowed; whether it is what the headers say is to be
// asked when it has been read.
type content struct {
	in   *input
	name string
	body io.Reader
	// limit is the most that it may have, and tooLong the error beyond that.
	limit   uint64
	tooLong error

	start int64
	crc   uint32
	size  uint64
}

// open begins with the content that comes next.
func (in *input) open(h header, limit uint64, tooLong error) *content {
	c := &content{in: in, name: h.name, limit: limit, tooLong: tooLong, start: in.offset()}
	if h.method == zip.Store {
		c.body = io.LimitReader(in.buffer, int64(min(h.packed, limit+1))) //nolint:gosec // limits are far below 2^63
		return c
	}
	if resetter, ok := in.inflate.(flate.Resetter); ok {
		_ = resetter.Reset(in.buffer, nil) // it only fails for dictionaries
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
	if c.size += uint64(n); c.size > c.limit { //nolint:gosec // a Read gives no less than nothing
		return 0, c.tooLong
	}
	if err == nil || err == io.EOF {
		return n, err
	}
	if failure := c.in.failure(); failure != nil {
		return n, failure
	}
	if c.in.err == io.EOF && c.in.buffer.Buffered() == 0 {
		return n, entryError(c.name, "has a content that is cut short")
	}
	return n, entryError(c.name, "has a damaged content: %v", err)
}

// packed is how many bytes of the archive the content took so far.
func (c *content) packed() uint64 {
	return uint64(c.in.offset() - c.start) //nolint:gosec // offsets only grow
}

// problem compares what was read to its end with what was declared.
func (c *content) problem(want header) error {
	if failure := c.in.failure(); failure != nil {
		return failure
	}
	switch packed := c.packed(); {
	case c.size != want.size:
		return entryError(c.name, "has %d bytes, and declares %d", c.size, want.size)
	case packed != want.packed:
		return entryError(c.name, "has %d compressed bytes, and declares %d", packed, want.packed)
	case c.crc != want.crc:
		return entryError(c.name, "has a content with another CRC-32 than declared")
	}
	return nil
}
