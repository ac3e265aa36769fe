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

// idleDialer wraps the connections of dial in [idleConn].
func idleDialer(dial dialFunc, timeout time.Duration) dialFunc {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := dial(ctx, network, address)
		if err != nil {
			return nil, err
		}
		return &idleConn{Conn: conn, timeout: timeout}, nil
	}
}

// idleConn fails after a time without traffic. Each read and write extends the deadline
// of both directions, because one side can be waiting for the other: a registry sends
// nothing during an upload, and we send nothing during a download.
//
// It hides the ReadFrom method of the inner connection, which would transfer a complete
// file under one deadline.
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

// SetWriteDeadline is called by crypto/tls before it sends its close message. From then
// on, that deadline applies.
func (c *idleConn) SetWriteDeadline(t time.Time) error {
	c.closing.Store(true)
	return c.Conn.SetWriteDeadline(t)
}

func (c *idleConn) extend() {
	if !c.closing.Load() {
		// An error means that the connection is closed, which the following read or
		// write reports.
		_ = c.Conn.SetDeadline(time.Now().Add(c.timeout))
	}
}

func (c *idleConn) explain(err error) error {
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return &idleError{after: c.timeout, err: err}
	}
	return err
}

// idleError is a net.Error with Timeout() == true.
type idleError struct {
	after time.Duration
	err   error
}

func (e *idleError) Error() string { return fmt.Sprintf("no data for %s", seconds(e.after)) }

func (e *idleError) Unwrap() error { return e.err }

// Timeout returns true.
func (e *idleError) Timeout() bool { return true }

// Temporary returns false, because the connection is unusable.
func (e *idleError) Temporary() bool { return false }

// seconds formats a duration in seconds: 60s, not 1m0s.
func seconds(d time.Duration) string { return fmt.Sprintf("%gs", d.Seconds()) }
