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

// writeTimeout is how long a client may take nothing of an answer.
const writeTimeout = 60 * time.Second

const (
	// bodyMemory limits the memory of all bodies that are being sent. Clients that read
	// nothing hold theirs until [writeTimeout].
	bodyMemory = 64 << 20
	// streamMemory is the memory of a stalled stream without its buffer: a TLS record, the
	// buffers of its connection, and stacks.
	streamMemory = 48 << 10
	// upstreamMemory is the memory of the upstream connection of a body that is not in a file.
	upstreamMemory = 32 << 10
	// fastBuffer is large enough that reading a file costs little compared with
	// encrypting it. Streams get it while less than fastMemory is in use, and slowBuffer
	// otherwise.
	fastBuffer = 256 << 10
	slowBuffer = 16 << 10
	fastMemory = bodyMemory / 4
)

// exchange is a request and its response.
type exchange struct {
	*writer
	r     *http.Request
	route *route
	// base is the URL under which the client reached the server, if a description needs it.
	base   *url.URL
	event  RequestEvent
	caller access.Caller
	// at, version and platform are what the path names, if the route is about one.
	query    providerQuery
	version  provider.Version
	platform provider.Platform
	// api reports that errors are written as in the API.
	api bool
	// show writes an error as a page; nil if nobody reads pages.
	showError func(status int, text string)
}

// writer counts what is written, and gives each piece its time: a long answer may
// take hours, as long as the client takes something of it. The status is sent with the
// first byte, so that it can be another as long as there is none.
type writer struct {
	http.ResponseWriter
	control *http.ResponseController
	status  int
	sent    bool
	bytes   int64
	// memory is the quota for buffers, and client the one that they are charged to.
	memory *quota
	client netip.Prefix
	// busy is set if the quota had no room for a buffer.
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
	_ = w.control.SetWriteDeadline(time.Now().Add(writeTimeout)) // recorders of tests have none
	n, err := w.ResponseWriter.Write(p)
	w.bytes += int64(n)
	return n, err
}

// finish sends the status, if it is not.
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

// ReadFrom implements [io.ReaderFrom]. If too many bodies are being sent, it sends nothing
// and returns [errBusy].
func (w *writer) ReadFrom(r io.Reader) (int64, error) {
	size, rest := int64(fastBuffer), int64(streamMemory)
	if w.memory.inUse() >= fastMemory {
		size = slowBuffer
	}
	source := r
	if part, ok := r.(*io.LimitedReader); ok {
		size, source = min(size, max(part.N, 1)), part.R
	}
	if c, ok := source.(*content); !ok || c.file == nil {
		rest += upstreamMemory
	}
	release, ok := w.memory.take(w.client, size+rest)
	if !ok {
		w.busy = true
		return 0, errBusy
	}
	defer release()
	return io.CopyBuffer(struct{ io.Writer }{w}, struct{ io.Reader }{r}, make([]byte, size))
}
