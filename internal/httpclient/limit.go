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

// MaxAhead is the size, in bytes, of an answer that is read whole while its
// request has a slot. Nearly all documents are smaller.
const MaxAhead = 64 << 10

// limited makes no more small requests at once than the pool has slots. A slot is
// held while a request is sent and never longer: what is read while something else
// is requested, such as a zip on its way from one host to another, has none, so
// that requests can't wait for each other in a circle.
type limited struct {
	transport
	pool *schedule.Limiter
}

// send makes a request and tells when it was sent. A transfer needs no slot: that
// is an upload above [schedule.MaxSmall], or of unknown length, and a part of
// something large. A small upload may even wait for one, where what it reads goes
// on after its connection broke off. All wait while their host has a pause.
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

// isLargeUpload knows uploads above [schedule.MaxSmall], and of unknown length.
func isLargeUpload(req *http.Request) bool {
	isUpload := req.Body != nil && req.Body != http.NoBody
	return isUpload && (req.ContentLength <= 0 || req.ContentLength > schedule.MaxSmall)
}

// outwait waits while a host has a pause.
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

// ReadAhead reads a body to its end, and gives one that tells the same, an error
// included. It is expected to have size bytes, from 0 to [MaxAhead].
func ReadAhead(body io.ReadCloser, size int64) io.ReadCloser {
	text := bytes.NewBuffer(make([]byte, 0, size+bytes.MinRead)) // else it is copied as it grows
	_, err := text.ReadFrom(body)
	return &ahead{text: text, err: err, Closer: body}
}

// ahead is a body that was read; err is what ended it, nil for its end.
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
