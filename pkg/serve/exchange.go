package serve

import (
	"io"
	"net/http"
	"sync"
	"time"

	svchost "github.com/hashicorp/terraform-svchost"

	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/serve/access"
)

// writeTimeout is how long a client may take nothing of an answer.
const writeTimeout = 60 * time.Second

// copyBuffer is large enough that reading a file costs little beside encrypting it.
const copyBuffer = 256 << 10

var buffers = sync.Pool{New: func() any { return new([copyBuffer]byte) }}

// exchange is a request and its answer.
type exchange struct {
	w *writer
	r *http.Request
	// values are what the words in capitals of the route stand for.
	values   map[string]string
	answered Answered
	caller   access.Caller
	// api tells that errors are written as the API does.
	api bool
	// show writes errors as the pages for people do; nil where nobody reads those.
	show func(status int, text string)
}

// address reads the address of a path that has a host.
func (x *exchange) address(host svchost.Hostname) (provider.Address, error) {
	return provider.ParseAddress(host.ForDisplay() + "/" + x.values["NAMESPACE"] + "/" + x.values["TYPE"])
}

// version reads the version of a path.
func (x *exchange) version() (provider.Version, error) {
	v, err := provider.ParseVersion(x.values["VERSION"])
	if err == nil && v.String() != x.values["VERSION"] {
		return v, &problem{http.StatusNotFound, "there is no version of that name; it is written " + v.String()}
	}
	return v, err
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
}

func newWriter(w http.ResponseWriter) *writer {
	return &writer{ResponseWriter: w, control: http.NewResponseController(w)}
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

// ReadFrom implements [io.ReaderFrom], which copies with a buffer of our size.
func (w *writer) ReadFrom(r io.Reader) (int64, error) {
	buffer := buffers.Get().(*[copyBuffer]byte)
	defer buffers.Put(buffer)
	return io.CopyBuffer(struct{ io.Writer }{w}, struct{ io.Reader }{r}, buffer[:])
}
