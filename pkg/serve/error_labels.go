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

// kindOf returns a word for what went wrong with a repository: metrics have no room for
// texts. It is empty when nothing did, such as when the client left.
func errorLabel(err error) string {
	status, answered := responseStatus(err)
	_, isSize := errors.AsType[*sums.SizeError](err)
	network, isNetwork := errors.AsType[net.Error](err)
	switch {
	case err == nil || errors.Is(err, context.Canceled):
		return ""
	case errors.Is(err, errBusy), errors.Is(err, pullthrough.ErrBusy):
		return "busy"
	case answered && status == http.StatusTooManyRequests:
		return "limited"
	case answered && status >= http.StatusInternalServerError:
		return "server"
	case errors.Is(err, provider.ErrDenied):
		return "denied"
	case answered:
		return "answer"
	case isSize || isInvalidContent(err):
		return "content"
	case errors.Is(err, context.DeadlineExceeded) || isNetwork && network.Timeout():
		return "timeout"
	case isNetwork:
		return "network"
	}
	return "other"
}

// answeredWith returns the status of an answer that is the reason of an error.
func responseStatus(err error) (status int, answered bool) {
	if response, ok := errors.AsType[*repository.ResponseError](err); ok {
		return response.Status, true
	}
	if response, ok := errors.AsType[*provider.StatusError](err); ok {
		return response.Status, true
	}
	return 0, false
}

// refusalOf returns a word for why a client may not have what it asks for.
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
	case errors.Is(err, access.ErrDenied) && p.status == http.StatusUnauthorized:
		return "token"
	case errors.Is(err, access.ErrDenied):
		return "link"
	}
	return refusalLabels[p.status]
}

// refusals are those that their status tells.
var refusalLabels = map[int]string{
	http.StatusUnauthorized:                 "no-token",
	http.StatusForbidden:                    "forbidden",
	http.StatusTooManyRequests:              "rate",
	http.StatusMethodNotAllowed:             "method",
	http.StatusBadRequest:                   "request",
	http.StatusRequestURITooLong:            "request",
	http.StatusRequestedRangeNotSatisfiable: "range",
}
