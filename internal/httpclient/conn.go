package httpclient

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"sync/atomic"
	"time"
)

type dialFunc func(ctx context.Context, network, address string) (net.Conn, error)

// idleDialer wraps dial's connections in [idleConn].
func idleDialer(dial dialFunc, timeout time.Duration) dialFunc {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := dial(ctx, network, address)
		if err != nil {
			return nil, err
		}
		return &idleConn{Conn: conn, timeout: timeout}, nil
	}
}

// idleConn is a connection that fails after a period without traffic. Each read and
// write extends the deadlines for both directions, because each side can be idle while
// the other side transfers data. A registry sends nothing during an upload, and the
// client sends nothing during a download.
//
// idleConn hides the ReadFrom method of the inner connection, because that method would
// transfer a complete file under a single deadline.
type idleConn struct {
	net.Conn
	timeout time.Duration
	closing atomic.Bool
}

func (c *idleConn) Read(b []byte) (int, error) {
	c.extend()
	n, err := c.Conn.Read(b)
	return n, c.explain(err)
}

func (c *idleConn) Write(b []byte) (int, error) {
	c.extend()
	n, err := c.Conn.Write(b)
	return n, c.explain(err)
}

// SetWriteDeadline is called by crypto/tls before it sends its close message. The
// deadline of crypto/tls then replaces the idle deadline.
func (c *idleConn) SetWriteDeadline(t time.Time) error {
	c.closing.Store(true)
	return c.Conn.SetWriteDeadline(t)
}

func (c *idleConn) extend() {
	if !c.closing.Load() {
		// An error means that the connection is closed. The next read or write reports
		// the error.
		_ = c.Conn.SetDeadline(time.Now().Add(c.timeout))
	}
}

func (c *idleConn) explain(err error) error {
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return &timeoutError{"no data received for " + seconds(c.timeout), err}
	}
	return err
}

// timeoutError means that a server sends nothing or too little. It implements
// [net.Error].
type timeoutError struct {
	text string
	err  error
}

func (e *timeoutError) Error() string { return e.text }

func (e *timeoutError) Unwrap() error { return e.err }

// Timeout returns true.
func (e *timeoutError) Timeout() bool { return true }

// Temporary returns false, because the connection or response is unusable.
func (e *timeoutError) Temporary() bool { return false }

// seconds formats a duration in seconds, for example 60s instead of 1m0s.
func seconds(d time.Duration) string { return fmt.Sprintf("%gs", d.Seconds()) }
