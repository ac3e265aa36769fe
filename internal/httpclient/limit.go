package httpclient

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"time"

	"github.com/tofu-oci/tofu-oci/internal/bounded"
	"github.com/tofu-oci/tofu-oci/internal/schedule"
)

// MaxAhead is the maximum size, in bytes, of a response that is read completely while
// its request occupies a slot. Nearly all documents are smaller.
const MaxAhead = 64 << 10

// limited limits the number of concurrent small requests to the number of slots in the
// pool. A request occupies a slot only until its response starts. Reading a body needs
// no slot, so requests that depend on each other cannot block each other. For example,
// requests that copy a zip between hosts depend on each other.
type limited struct {
	transport
	pool *schedule.Limiter
}

// send sends a request and returns the time at which it was sent. Large uploads (see
// isLargeUpload) and requests for ranges need no slot. A small upload can wait for a
// slot while its source resumes an interrupted download. All requests wait while their
// host is paused.
func (l *limited) send(req *http.Request) (resp *http.Response, sent time.Time, err error) {
	release := func() {}
	if isLargeUpload(req) || req.Header.Get("Range") != "" {
		err = l.waitForPause(req.Context(), req.URL.Host)
	} else {
		release, err = l.pool.Acquire(req.Context(), req.URL.Host)
	}
	sent = time.Now()
	if err != nil {
		if req.Body != nil {
			_ = req.Body.Close()
		}
		return nil, sent, err
	}
	defer release()
	resp, err = l.transport.RoundTrip(req)
	if err != nil || req.Method == http.MethodHead || resp.ContentLength <= 0 || resp.ContentLength > MaxAhead {
		return resp, sent, err
	}
	resp.Body = ReadAhead(resp.Body, resp.ContentLength)
	return resp, sent, nil
}

// isLargeUpload reports whether a request is an upload that is larger than
// [schedule.MaxSmall] or has an unknown length.
func isLargeUpload(req *http.Request) bool {
	isUpload := req.Body != nil && req.Body != http.NoBody
	return isUpload && (req.ContentLength <= 0 || req.ContentLength > schedule.MaxSmall)
}

// waitForPause waits until the host's pause ends.
func (l *limited) waitForPause(ctx context.Context, host string) error {
	for {
		pause := l.pool.Pause(host)
		if pause == 0 {
			return nil
		}
		if err := bounded.Pause(ctx, pause); err != nil {
			return err
		}
	}
}

// ReadAhead reads a body to its end and returns a body with the same content and error.
// size is the expected size in bytes, from 0 to [MaxAhead].
func ReadAhead(body io.ReadCloser, size int64) io.ReadCloser {
	text := bytes.NewBuffer(make([]byte, 0, size+bytes.MinRead)) // prevents copying when the buffer grows
	_, err := text.ReadFrom(body)
	return &ahead{text: text, err: err, Closer: body}
}

// ahead is a body that has already been read. err is the read error, or nil if the end
// was reached.
type ahead struct {
	text *bytes.Buffer
	err  error
	io.Closer
}

func (a *ahead) Read(p []byte) (int, error) {
	n, err := a.text.Read(p)
	if err == io.EOF && a.err != nil {
		err = a.err
	}
	return n, err
}
