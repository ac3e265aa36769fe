package httpclient

import (
	"bytes"
	"io"
	"net/http"

	"github.com/tofu-oci/tofu-oci/internal/schedule"
)

// MaxAhead is the size, in bytes, of an answer that is read whole while its
// request has a slot. Nearly all documents are smaller.
const MaxAhead = 64 << 10

// limited makes no more small requests at once than the pool has slots. A slot is
// held within RoundTrip and never longer: what is read while something else is
// requested, such as a zip on its way from one host to another, has none, so that
// requests can't wait for each other in a circle.
type limited struct {
	transport
	pool *schedule.Limiter
}

// RoundTrip implements http.RoundTripper. A transfer needs no slot: that is an
// upload above [schedule.MaxSmall], or of unknown length, and a part of something
// large. A small upload may even wait for one, where what it reads goes on after
// its connection broke off.
func (l *limited) RoundTrip(req *http.Request) (*http.Response, error) {
	isUpload := req.Body != nil && req.Body != http.NoBody
	if isUpload && (req.ContentLength <= 0 || req.ContentLength > schedule.MaxSmall) || req.Header.Get("Range") != "" {
		return l.transport.RoundTrip(req)
	}
	release, err := l.pool.Acquire(req.Context(), req.URL.Host)
	if err != nil {
		if req.Body != nil {
			_ = req.Body.Close()
		}
		return nil, err
	}
	defer release()
	resp, err := l.transport.RoundTrip(req)
	if err != nil || req.Method == http.MethodHead || resp.ContentLength <= 0 || resp.ContentLength > MaxAhead {
		return resp, err
	}
	resp.Body = ReadAhead(resp.Body)
	return resp, nil
}

// ReadAhead reads a body to its end, and gives one that tells the same, an error
// included.
func ReadAhead(body io.ReadCloser) io.ReadCloser {
	text, err := io.ReadAll(body)
	return &ahead{text: bytes.NewReader(text), err: err, Closer: body}
}

// ahead is a body that was read; err is what ended it, nil for its end.
type ahead struct {
	text *bytes.Reader
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
