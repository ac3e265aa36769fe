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

// idleDialer wraps the connections that dial makes in [idleConn].
func idleDialer(dial dialFunc, timeout time.Duration) dialFunc {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := dial(ctx, network, address)
		if err != nil {
			return nil, err
		}
		return &idleConn{Conn: conn, timeout: timeout}, nil
	}
}

// idleConn fails when nothing was read and nothing written for a while. Each
// read and write puts off the deadline of both directions, since the side that
// is silent may be waiting for the other: a registry says nothing during an
// upload, and we say nothing during a download.
//
// It hides the ReadFrom of the connection within, which would move a whole
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

// SetWriteDeadline is what crypto/tls calls before its farewell on Close; from
// then on, its short deadline holds and not ours.
func (c *idleConn) SetWriteDeadline(t time.Time) error {
	c.closing.Store(true)
	return c.Conn.SetWriteDeadline(t)
}

func (c *idleConn) extend() {
	if !c.closing.Load() {
		// An error means that the connection is closed, which the read or
		// write that follows says better.
		_ = c.Conn.SetDeadline(time.Now().Add(c.timeout))
	}
}

func (c *idleConn) explain(err error) error {
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return &idleError{after: c.timeout, err: err}
	}
	return err
}

// idleError is a net.Error: it is a timeout to all who ask.
type idleError struct {
	after time.Duration
	err   error
}

func (e *idleError) Error() string { return fmt.Sprintf("no data for %s", seconds(e.after)) }

func (e *idleError) Unwrap() error { return e.err }

// Timeout is true, as net.Error has it.
func (e *idleError) Timeout() bool { return true }

// Temporary is false: this connection will not come back.
func (e *idleError) Temporary() bool { return false }

// seconds writes a duration as people set it: 60s, not 1m0s.
func seconds(d time.Duration) string { return fmt.Sprintf("%gs", d.Seconds()) }
