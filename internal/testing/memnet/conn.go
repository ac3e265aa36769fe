package memnet

import (
	"io"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

const (
	// window is the number of bytes that can be in transit. Additional writes block
	// until the receiver reads.
	window = 64 << 10
	// urgent is the maximum length of a write that never blocks. TCP nearly always has
	// buffer space for the last few bytes of a connection.
	urgent = 128
)

// conn is one end of a connection. It returns the same errors as a TCP connection.
type conn struct {
	local, remote addr
	in, out       *half
	// reset is set on both ends when either end resets the connection.
	reset          *atomic.Bool
	abrupt, closed atomic.Bool
	// read and write are the deadlines.
	read, write deadline
}

// pipe returns both ends of a connection.
func pipe(from, to string) (near, far *conn) {
	there, back, reset := newHalf(), newHalf(), new(atomic.Bool)
	near = &conn{local: addr(from), remote: addr(to), in: back, out: there, reset: reset}
	far = &conn{local: addr(to), remote: addr(from), in: there, out: back, reset: reset}
	return near, far
}

// half is one direction of a connection.
type half struct {
	mu      sync.Mutex
	changed *sync.Cond
	data    []byte
	// ended is set when the writer has closed the connection. deaf is set when the
	// reader has closed the connection.
	ended, deaf bool
}

func newHalf() *half {
	h := &half{}
	h.changed = sync.NewCond(&h.mu)
	return h
}

// change runs do and wakes all goroutines that wait for a change in this direction.
func (h *half) change(do func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	do()
	h.changed.Broadcast()
}

// Read implements [net.Conn].
func (c *conn) Read(p []byte) (n int, err error) {
	h := c.in
	h.mu.Lock()
	defer h.mu.Unlock()
	for {
		switch {
		case c.closed.Load():
			return 0, c.failed("read", net.ErrClosed)
		case c.reset.Load():
			return 0, c.failed("read", syscall.ECONNRESET)
		case c.read.passed():
			return 0, c.failed("read", os.ErrDeadlineExceeded)
		case len(h.data) > 0:
			n = copy(p, h.data)
			h.data = h.data[n:]
			h.changed.Broadcast()
			return n, nil
		case h.ended:
			return 0, io.EOF
		}
		h.changed.Wait()
	}
}

// Write implements [net.Conn].
func (c *conn) Write(p []byte) (n int, err error) {
	h, small := c.out, len(p) <= urgent
	h.mu.Lock()
	defer h.mu.Unlock()
	for len(p) > 0 {
		switch {
		case c.closed.Load():
			return n, c.failed("write", net.ErrClosed)
		case c.reset.Load():
			return n, c.failed("write", syscall.ECONNRESET)
		case h.deaf:
			return n, c.failed("write", syscall.EPIPE)
		case c.write.passed():
			return n, c.failed("write", os.ErrDeadlineExceeded)
		case small || len(h.data) < window:
			k := len(p)
			if !small {
				k = min(k, window-len(h.data))
			}
			h.data = append(h.data, p[:k]...)
			n, p = n+k, p[k:]
			h.changed.Broadcast()
			continue
		}
		h.changed.Wait()
	}
	return n, nil
}

func (c *conn) failed(op string, err error) error {
	return &net.OpError{Op: op, Net: "tcp", Source: c.local, Addr: c.remote, Err: err}
}

// SetLinger sets whether Close resets the connection. If seconds is 0, Close resets it,
// as with [net.TCPConn].
func (c *conn) SetLinger(seconds int) error {
	c.abrupt.Store(seconds == 0)
	return nil
}

// Close implements [net.Conn].
func (c *conn) Close() error {
	if c.closed.Swap(true) {
		return c.failed("close", net.ErrClosed)
	}
	if c.abrupt.Load() {
		c.reset.Store(true)
	}
	c.in.change(func() { c.in.deaf = true })
	c.out.change(func() { c.out.ended = true })
	c.read.set(time.Time{}, nil)
	c.write.set(time.Time{}, nil)
	return nil
}

// LocalAddr implements [net.Conn].
func (c *conn) LocalAddr() net.Addr { return c.local }

// RemoteAddr implements [net.Conn].
func (c *conn) RemoteAddr() net.Addr { return c.remote }

// SetDeadline implements [net.Conn].
func (c *conn) SetDeadline(t time.Time) error {
	_ = c.SetReadDeadline(t)
	return c.SetWriteDeadline(t)
}

// SetReadDeadline implements [net.Conn].
func (c *conn) SetReadDeadline(t time.Time) error {
	c.read.set(t, func() { c.in.change(func() {}) })
	return nil
}

// SetWriteDeadline implements [net.Conn].
func (c *conn) SetWriteDeadline(t time.Time) error {
	c.write.set(t, func() { c.out.change(func() {}) })
	return nil
}

// deadline is the time after which reads or writes fail.
type deadline struct {
	mu    sync.Mutex
	at    time.Time
	timer *time.Timer
}

// set sets the deadline. When it expires, wake is called.
func (d *deadline) set(at time.Time, wake func()) {
	d.mu.Lock()
	d.at = at
	if d.timer != nil {
		d.timer.Stop()
		d.timer = nil
	}
	isPast := !at.IsZero() && !time.Now().Before(at)
	if !at.IsZero() && !isPast {
		d.timer = time.AfterFunc(time.Until(at), wake)
	}
	d.mu.Unlock()
	if isPast {
		wake()
	}
}

func (d *deadline) passed() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return !d.at.IsZero() && !time.Now().Before(d.at)
}
