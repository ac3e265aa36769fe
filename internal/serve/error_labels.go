package serve

import (
	"context"
	"errors"
	"net"
	"net/http"

	"github.com/tofu-oci/tofu-oci/internal/serve/access"
	"github.com/tofu-oci/tofu-oci/internal/serve/pullthrough"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
	"github.com/tofu-oci/tofu-oci/pkg/sums"
)

// errorLabel returns the metric label for an error from a repository. It is empty if
// the repository is not at fault, for example if the client disconnected.
func errorLabel(err error) string {
	status, ok := responseStatus(err)
	_, isSize := errors.AsType[*sums.SizeError](err)
	network, isNetwork := errors.AsType[net.Error](err)
	switch {
	case err == nil || errors.Is(err, context.Canceled):
		return ""
	case errors.Is(err, errBusy), errors.Is(err, pullthrough.ErrBusy):
		return "busy"
	case ok && status == http.StatusTooManyRequests:
		return "limited"
	case ok && status >= http.StatusInternalServerError:
		return "server"
	case errors.Is(err, provider.ErrForbidden):
		return "denied"
	case ok:
		return "response"
	case isSize || isInvalidContent(err):
		return "content"
	case errors.Is(err, context.DeadlineExceeded) || isNetwork && network.Timeout():
		return "timeout"
	case isNetwork:
		return "network"
	}
	return "other"
}

// responseStatus returns the HTTP status of the response that caused an error.
func responseStatus(err error) (status int, ok bool) {
	if response, ok := errors.AsType[*repository.ResponseError](err); ok {
		return response.Status, true
	}
	if response, ok := errors.AsType[*provider.StatusError](err); ok {
		return response.Status, true
	}
	return 0, false
}

// refusalLabel returns the metric label for the reason a request was rejected, or
// "" if the client is not at fault.
func refusalLabel(err error) string {
	p, is := errors.AsType[*problem](err)
	_, policy := errors.AsType[*pullthrough.RefusedError](err)
	switch {
	case policy:
		return "policy"
	case !is:
		return ""
	case errors.Is(err, access.ErrUnavailable):
		return "issuer"
	case errors.Is(err, access.ErrNoToken):
		return "no-token"
	case errors.Is(err, access.ErrInvalidToken) && p.status == http.StatusUnauthorized:
		return "token"
	case errors.Is(err, access.ErrInvalidToken):
		return "link"
	}
	return refusalLabels[p.status]
}

// refusalLabels maps HTTP statuses to metric labels.
var refusalLabels = map[int]string{
	http.StatusUnauthorized:                 "no-token",
	http.StatusForbidden:                    "forbidden",
	http.StatusTooManyRequests:              "rate",
	http.StatusMethodNotAllowed:             "method",
	http.StatusBadRequest:                   "request",
	http.StatusRequestURITooLong:            "request",
	http.StatusRequestedRangeNotSatisfiable: "range",
}
