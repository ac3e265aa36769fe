package httpclient

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"time"
)

const (
	// minRate is the minimum transfer rate of a response, in bytes per second. It stops
	// only servers that would otherwise block a run forever.
	minRate = 100
	// afterIdle is added to other time limits, so that the deadline of an [idleConn]
	// expires first if a server sends nothing.
	afterIdle = time.Second
)

// steady is a transport whose responses fail if the server sends them too slowly.
type steady struct {
	transport
	timeout time.Duration
}

// RoundTrip implements http.RoundTripper.
func (s *steady) RoundTrip(req *http.Request) (*http.Response, error) {
	ctx, cancel := context.WithCancel(req.Context())
	resp, err := s.transport.RoundTrip(req.WithContext(ctx))
	if isHeaderTimeout(err) && req.Context().Err() == nil {
		err = &timeoutError{"no complete response header received in " + seconds(s.timeout), os.ErrDeadlineExceeded}
	}
	if err != nil || resp.Body == http.NoBody {
		cancel()
		return resp, err
	}
	resp.Body = &steadyBody{body: resp.Body, cancel: cancel, timeout: s.timeout}
	return resp, nil
}

// isHeaderTimeout reports whether err means that [http.Transport.ResponseHeaderTimeout]
// expired. Package net/http has no exported error for it. A timeout while connecting is
// a *[net.OpError] instead.
func isHeaderTimeout(err error) bool {
	_, isOp := errors.AsType[*net.OpError](err)
	return errors.Is(err, context.DeadlineExceeded) && !isOp
}

// steadyBody is a body that fails if fewer than minRate bytes per second arrive during
// the timeout. Unlike the deadline of an [idleConn], this limit also applies to servers
// that send a byte at a time and to streams that share a connection.
type steadyBody struct {
	body    io.ReadCloser
	cancel  context.CancelFunc
	timeout time.Duration
	// got is the number of bytes read, and waited is the time spent in Read. Both are
	// reset when enough bytes have been received. The time between reads is not
	// included, because it belongs to the caller.
	got    int64
	waited time.Duration
	slow   bool
}

func (b *steadyBody) Read(p []byte) (int, error) {
	enough := int64(minRate * b.timeout.Seconds())
	if b.got >= enough {
		b.got, b.waited = 0, 0
	}
	began := time.Now()
	timer := time.AfterFunc(b.timeout-b.waited, b.cancel)
	n, err := b.body.Read(p)
	b.slow = b.slow || !timer.Stop()
	b.got += int64(n)
	b.waited += time.Since(began)
	if b.slow && err != nil && err != io.EOF {
		err = &timeoutError{fmt.Sprintf("less than %d bytes received in %s", enough, seconds(b.timeout)), os.ErrDeadlineExceeded}
	}
	return n, err
}

// Close implements io.Closer.
func (b *steadyBody) Close() error {
	defer b.cancel()
	return b.body.Close()
}
