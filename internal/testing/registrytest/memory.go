package registrytest

import (
	"net/http"
	"testing"
	"time"

	"github.com/tofu-oci/tofu-oci/internal/httpclient"
	"github.com/tofu-oci/tofu-oci/internal/testing/memnet"
	"github.com/tofu-oci/tofu-oci/internal/testing/patience"
)

// ServeInMemory serves h over plain HTTP on a separate in-memory network, and returns its
// "localhost:port" and a client for this network. In a synctest bubble, timeouts and
// pauses take virtual time, and the bubble fails if the test leaves an open connection or
// a goroutine.
func ServeInMemory(tb testing.TB, h http.Handler) (host string, client *http.Client) {
	tb.Helper()
	host = "localhost:80"
	network := memnet.New()
	listener := network.Listen(host)
	client, err := httpclient.New(httpclient.Options{Dial: network.Dial, Timeout: patience.Limit, FirstWait: time.Microsecond})
	if err != nil {
		tb.Fatal(err)
	}
	go func() { _ = (&http.Server{Handler: h, ReadHeaderTimeout: patience.Limit}).Serve(listener) }()
	tb.Cleanup(func() {
		client.CloseIdleConnections()
		_ = listener.Close() // not the server, because that would close connections that the test left open
	})
	return host, client
}
