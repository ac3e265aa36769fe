package serve

import (
	"context"
	"errors"
	"net"
	"net/http"

	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
	"github.com/tofu-oci/tofu-oci/pkg/serve/access"
	"github.com/tofu-oci/tofu-oci/pkg/sums"
)

// kindOf gives a word for what went wrong with a repository: metrics have no room for
// texts. It is empty when nothing did, such as when the client left.
func kindOf(err error) string {
	answer, answered := errors.AsType[*repository.ResponseError](err)
	_, size := errors.AsType[*sums.SizeError](err)
	network, isNetwork := errors.AsType[net.Error](err)
	switch {
	case err == nil || errors.Is(err, context.Canceled):
		return ""
	case errors.Is(err, errBusy):
		return "busy"
	case answered && answer.Status == http.StatusTooManyRequests:
		return "limited"
	case answered && answer.Status >= http.StatusInternalServerError:
		return "server"
	case errors.Is(err, provider.ErrDenied):
		return "denied"
	case answered:
		return "answer"
	case size || isWrong(err):
		return "content"
	case errors.Is(err, context.DeadlineExceeded) || isNetwork && network.Timeout():
		return "timeout"
	case isNetwork:
		return "network"
	}
	return "other"
}

// refusalOf gives a word for why a client may not have what it asks for.
func refusalOf(err error) string {
	p, is := errors.AsType[*problem](err)
	switch {
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
	return refusals[p.status]
}

// refusals are those that their status tells.
var refusals = map[int]string{
	http.StatusUnauthorized:                 "no-token",
	http.StatusForbidden:                    "forbidden",
	http.StatusTooManyRequests:              "rate",
	http.StatusMethodNotAllowed:             "method",
	http.StatusBadRequest:                   "request",
	http.StatusRequestURITooLong:            "request",
	http.StatusRequestedRangeNotSatisfiable: "range",
}
