package serve

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/tofu-oci/tofu-oci/internal/serve/api"
	"github.com/tofu-oci/tofu-oci/internal/serve/pullthrough"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
)

// problem is an error response with a message for the client.
type problem struct {
	status int
	text   string
}

func (p *problem) Error() string { return p.text }

// statusOf returns the HTTP status of an error, and a message for the client. Clients
// rely on the status. After a 404 response, they try their next installation method.
// 401 and 403 always refer to the client's credentials, never to the server's
// credentials.
func statusOf(err error) (status int, text string) {
	if p, ok := errors.AsType[*problem](err); ok {
		return p.status, p.text
	}
	_, platform := errors.AsType[*provider.PlatformError](err)
	_, syntax := errors.AsType[*provider.SyntaxError](err)
	late := errors.Is(err, errTimeout)
	response, refused := errors.AsType[*repository.ResponseError](err)
	upstream, isUpstream := errors.AsType[*originError](err)
	_, isRefused := errors.AsType[*pullthrough.RefusedError](err)
	failed, hasFailed := errors.AsType[*pullthrough.FailedError](err)
	switch {
	case isRefused:
		return http.StatusForbidden, err.Error()
	case hasFailed:
		return http.StatusBadGateway, fmt.Sprintf("mirroring %s %s from its origin registry failed (%s) and can be retried after %s; see the server log for details",
			failed.Address, failed.Version, errorLabel(failed.Err), failed.Again.UTC().Format(time.RFC3339))
	case isAbsent(err) || platform:
		return http.StatusNotFound, err.Error()
	case syntax:
		return http.StatusBadRequest, err.Error()
	case errors.Is(err, context.Canceled):
		return statusClientClosed, "the client closed the connection"
	case errors.Is(err, errBusy), errors.Is(err, pullthrough.ErrBusy), refused && response.Status == http.StatusTooManyRequests:
		return http.StatusServiceUnavailable, "the server is busy; try again later"
	case isUpstream && (late || errors.Is(err, context.DeadlineExceeded)):
		return http.StatusGatewayTimeout, fmt.Sprintf("the origin registry %s did not respond in time; try again later", upstream.host.ForDisplay())
	case isUpstream && pullthrough.IsMissing(upstream.err):
		return http.StatusBadGateway, fmt.Sprintf("the origin registry %s doesn't have all files of this version; see the server log for details", upstream.host.ForDisplay())
	case isUpstream:
		return http.StatusBadGateway, fmt.Sprintf("the origin registry %s %s; see the server log for details", upstream.host.ForDisplay(), upstream.problem())
	case late || errors.Is(err, context.DeadlineExceeded):
		return http.StatusGatewayTimeout, "the repository did not respond in time; try again later"
	case errors.Is(err, provider.ErrForbidden):
		return http.StatusBadGateway, "the registry rejected the server's credentials"
	}
	// The registry's error is only logged, because it can reveal internal host names.
	return http.StatusBadGateway, "the server cannot read the repository; see the server log for details"
}

// statusClientClosed is the status that nginx introduced for a client that closed the
// connection.
const statusClientClosed = 499

// mediaTypeJSON is the media type of JSON documents.
const mediaTypeJSON = "application/json"

// retryLater is the value of the Retry-After header in seconds.
const retryLater = "5"

// fail responds with an error in the format that both protocols use: {"errors":["…"]}.
func (x *exchange) fail(err error) {
	if x.busy {
		x.rejectBusy()
		return
	}
	status, text := statusOf(err)
	x.event.Err, x.event.Refused = err, refusalLabel(err)
	h := x.Header()
	for _, name := range []string{"Etag", "Content-Length", "Accept-Ranges", "Content-Disposition", "Cache-Control", "Age", "Warning", "Last-Modified"} {
		h.Del(name)
	}
	if status != http.StatusRequestedRangeNotSatisfiable {
		h.Del("Content-Range")
	}
	switch status {
	case http.StatusServiceUnavailable, http.StatusGatewayTimeout, http.StatusBadGateway:
		h.Set("Retry-After", retryLater)
	case http.StatusUnauthorized:
		x.challenge()
	}
	switch {
	case x.showError != nil:
		x.showError(status, text)
		return
	case x.api: // see https://www.rfc-editor.org/rfc/rfc9457
		title := cmp.Or(http.StatusText(status), "Client Closed Request")
		x.writeJSON(status, api.ProblemType, api.Problem{Type: "about:blank", Title: title, Status: status, Detail: text})
		return
	}
	x.writeJSON(status, mediaTypeJSON, struct {
		Errors []string `json:"errors"`
	}{[]string{text}})
}

// respondJSON responds with a document and the headers for its age.
func (x *exchange) respondJSON(document any, s cacheState) error {
	x.setCacheHeaders(s)
	x.writeJSON(http.StatusOK, mediaTypeJSON, document)
	return nil
}

// setCacheHeaders sets the headers that describe the age of a response. It also records
// the age for the log.
func (x *exchange) setCacheHeaders(s cacheState) {
	x.event.Age, x.event.Stale = s.age, s.stale
	h := x.Header()
	h.Set("Cache-Control", "no-cache")
	if s.age >= time.Second {
		h.Set("Age", strconv.Itoa(int(s.age/time.Second)))
	}
	if s.stale != nil {
		h.Set("Warning", staleWarning(s.stale))
	}
}

// staleWarning returns the Warning header for outdated data.
func staleWarning(stale error) string {
	if upstream, ok := errors.AsType[*originError](stale); ok {
		return `110 - "the origin registry ` + upstream.problem() + `, so its versions are missing"`
	}
	return `110 - "the repository is unreachable, so this data is stale"`
}

// writeJSON writes a document with its Content-Length.
func (x *exchange) writeJSON(status int, mediaType string, document any) {
	data, err := json.Marshal(document)
	if err != nil {
		status, data = http.StatusInternalServerError, []byte(`{"errors":["the response cannot be encoded"]}`)
		x.event.Err = fmt.Errorf("encoding the response: %w", err)
	}
	x.writeBytes(status, mediaType, append(data, '\n'))
}

func (x *exchange) writeBytes(status int, contentType string, data []byte) {
	if len(data) > slowBuffer {
		release, ok := x.memory.take(x.client, int64(len(data)))
		if !ok {
			x.rejectBusy()
			return
		}
		defer release()
	}
	h := x.Header()
	h.Set("Content-Type", contentType)
	h.Set("Content-Length", strconv.Itoa(len(data)))
	x.WriteHeader(status)
	if x.r.Method != http.MethodHead {
		_, _ = x.Write(data) // if the client has disconnected, the log shows fewer bytes
	}
}

// rejectBusy responds with 503. The response has no body, because the client might not read
// it.
func (x *exchange) rejectBusy() {
	x.event.Err = errBusy
	h := x.Header()
	clear(h)
	h.Set("Retry-After", retryLater)
	h.Set("Connection", "close") // frees the memory of the connection
	x.WriteHeader(http.StatusServiceUnavailable)
}
