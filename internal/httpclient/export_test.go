package httpclient

import (
	"net/http"

	"github.com/tofu-oci/tofu-oci/internal/schedule"
)

// NewOver is like [New], but uses the given network.
func NewOver(network interface {
	http.RoundTripper
	CloseIdleConnections()
}, o Options) *http.Client {
	return &http.Client{Transport: &retrier{limited: limited{network, schedule.NewRequests()}, options: o}}
}
