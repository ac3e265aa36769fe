package serve

import (
	"io"
	"net/http"
	"net/netip"
	"net/url"
	"time"

	"github.com/tofu-oci/tofu-oci/internal/serve/access"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

const (
	// bodyMemory limits the total size of all response buffers, in bytes. A stalled
	// client keeps its buffer until the write timeout.
	bodyMemory = 64 << 20
	// streamMemory is the memory of a stalled stream in addition to its buffer: a TLS
	// record, connection buffers, and stacks.
	streamMemory = 48 << 10
	// upstreamMemory is the memory of the connection from which a response is read. It
	// doesn't apply to responses that are read from a file.
	upstreamMemory = 32 << 10
	// With fastBuffer, reading a file costs little compared with encrypting it.
	// fastBuffer is used while buffers use less than fastMemory in total. Otherwise,
	// slowBuffer is used.
	fastBuffer = 256 << 10
	slowBuffer = 16 << 10
	fastMemory = bodyMemory / 4
)

// exchange is a request and its response.
type exchange struct {
	*writer
	r     *http.Request
	route *route
	// base is the URL of the server as seen by the client. It is set only for pages and
	// for the API's JSON responses.
	base   *url.URL
	event  RequestEvent
	caller access.Caller
	// query, version, and platform are set if the path contains them.
	query    query
	version  provider.Version
	platform provider.Platform
	// api selects the error format of the API.
	api bool
	// showError responds with an error page. It is nil if the client doesn't expect a page.
	showError func(status int, text string)
}

// writer counts the bytes of a response. It sets a deadline for each write, so a
// download can take hours as long as the client keeps reading. It sends the status with
// the first byte, so the status can be changed until then.
type writer struct {
	http.ResponseWriter
	control *http.ResponseController
	status  int
	sent    bool
	bytes   int64
	// timeout is how long a write can block.
	timeout time.Duration
	// memory is the quota for buffers. client is the client to which buffers are
	// charged.
	memory *quota
	client netip.Prefix
	// busy reports whether the quota for buffers was exceeded.
	busy bool
}

// WriteHeader implements [http.ResponseWriter].
func (w *writer) WriteHeader(status int) {
	if !w.sent {
		w.status = status
	}
}

// Write implements [io.Writer].
func (w *writer) Write(p []byte) (int, error) {
	w.finish()
	_ = w.control.SetWriteDeadline(time.Now().Add(w.timeout)) // test recorders have no deadlines
	n, err := w.ResponseWriter.Write(p)
	w.bytes += int64(n)
	return n, err
}

// finish sends the status if it has not been sent.
func (w *writer) finish() {
	if w.sent {
		return
	}
	if w.status == 0 {
		w.status = http.StatusOK
	}
	w.sent = true
	w.ResponseWriter.WriteHeader(w.status)
}

// ReadFrom implements [io.ReaderFrom]. If the quota for buffers is exceeded, it sends
// nothing and returns [errBusy].
func (w *writer) ReadFrom(r io.Reader) (int64, error) {
	size, overhead := int64(fastBuffer), int64(streamMemory)
	if w.memory.inUse() >= fastMemory {
		size = slowBuffer
	}
	source := r
	if part, ok := r.(*io.LimitedReader); ok {
		size, source = min(size, max(part.N, 1)), part.R
	}
	if c, ok := source.(*content); !ok || c.file == nil {
		overhead += upstreamMemory
	}
	release, ok := w.memory.take(w.client, size+overhead)
	if !ok {
		w.busy = true
		return 0, errBusy
	}
	defer release()
	return io.CopyBuffer(struct{ io.Writer }{w}, struct{ io.Reader }{r}, make([]byte, size))
}
