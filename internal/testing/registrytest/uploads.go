package registrytest

import (
	"fmt"
	"io"
	"net/http"
	"path"
	"strconv"
	"strings"
	"sync"

	"github.com/opencontainers/go-digest"

	"github.com/tofu-oci/tofu-oci/internal/testing/origintest"
)

// uploads keeps the received bytes of interrupted uploads, as distribution does. An
// upload's URL contains the number of received bytes, so the URL becomes invalid when
// more bytes arrive.
type uploads struct {
	mu       sync.Mutex
	arrived  map[string][]byte
	received int64
}

// Received returns the number of bytes received in all uploads, for
// [Options].Resumable.
func (r *Registry) Received() int64 {
	r.uploads.mu.Lock()
	defer r.uploads.mu.Unlock()
	return r.uploads.received
}

// upload handles requests that start, inspect, continue, or complete an upload.
func (r *Registry) upload(w http.ResponseWriter, req *http.Request) {
	before, id := path.Split(strings.TrimSuffix(req.URL.Path, "/"))
	if req.Method == http.MethodPost {
		before, id = req.URL.Path, r.uploads.begin()
	}
	content, found := r.uploads.get(id)
	at := fmt.Sprintf("%s%s?state=", before, id)
	switch {
	case !found:
		respondError(w, http.StatusNotFound, "BLOB_UPLOAD_UNKNOWN", "blob upload unknown to registry")
	case req.Method == http.MethodPost:
		respondUpload(w, at, 0, http.StatusAccepted)
	case req.Method == http.MethodGet:
		respondUpload(w, at, len(content), http.StatusNoContent)
	case req.URL.Query().Get("state") != strconv.Itoa(len(content)), !startsAt(req, len(content)):
		respondError(w, http.StatusRequestedRangeNotSatisfiable, "RANGE_INVALID", "invalid content range")
	default:
		r.complete(w, req, id)
	}
}

// respondUpload responds with an upload's location and the number of received bytes.
func respondUpload(w http.ResponseWriter, at string, n, status int) {
	w.Header().Set("Location", at+strconv.Itoa(n))
	w.Header().Set("Range", fmt.Sprintf("0-%d", max(n-1, 0)))
	w.WriteHeader(status)
}

// startsAt reports whether a request continues an upload at byte n, or specifies no
// offset.
func startsAt(req *http.Request, n int) bool {
	var first, last int
	header := req.Header.Get("Content-Range")
	_, err := fmt.Sscanf(header, "%d-%d", &first, &last)
	return header == "" && n == 0 || req.ContentLength == 0 || err == nil && first == n && int64(last-first+1) == req.ContentLength
}

// complete appends the rest of an upload and verifies the upload's digest.
func (r *Registry) complete(w http.ResponseWriter, req *http.Request, id string) {
	rest, err := io.ReadAll(req.Body)
	content := r.uploads.add(id, rest)
	if err != nil {
		return
	}
	wanted := req.URL.Query().Get("digest")
	r.uploads.end(id)
	if digest.FromBytes(content).String() != wanted {
		respondError(w, http.StatusBadRequest, "DIGEST_INVALID", "provided digest did not match uploaded content")
		return
	}
	name, _, _ := strings.Cut(strings.TrimPrefix(req.URL.Path, "/v2/"), "/blobs/")
	r.AddBlob(name, wanted, content)
	w.WriteHeader(http.StatusCreated)
}

func (u *uploads) begin() (id string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	id = fmt.Sprintf("upload-%d", len(u.arrived))
	u.arrived[id] = []byte{}
	return id
}

func (u *uploads) get(id string) (content []byte, found bool) {
	u.mu.Lock()
	defer u.mu.Unlock()
	content = u.arrived[id]
	return content, content != nil
}

func (u *uploads) add(id string, rest []byte) (content []byte) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.received += int64(len(rest))
	u.arrived[id] = append(u.arrived[id], rest...)
	return u.arrived[id]
}

// end removes an upload.
func (u *uploads) end(id string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.arrived[id] = nil
}

// CutUpload closes the connection after n bytes of an upload.
func CutUpload(n int64) origintest.Fault {
	return func(w http.ResponseWriter, req *http.Request, honest http.HandlerFunc) {
		req.Body = &cut{req.Body, n}
		honest(w, req)
		origintest.Reset(0)(w, req, honest)
	}
}

// cut is a body that returns an error after the given number of bytes.
type cut struct {
	io.ReadCloser
	left int64
}

func (c *cut) Read(p []byte) (int, error) {
	n, err := c.ReadCloser.Read(p[:min(int64(len(p)), c.left)])
	if c.left -= int64(n); c.left == 0 {
		err = io.ErrUnexpectedEOF
	}
	return n, err
}
