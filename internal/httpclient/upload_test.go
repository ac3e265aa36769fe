package httpclient_test

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"

	"github.com/tofu-oci/tofu-oci/internal/httpclient"
	"github.com/tofu-oci/tofu-oci/internal/schedule"
	"github.com/tofu-oci/tofu-oci/internal/testing/memnet"
)

// TestLargeUploadsUseDedicatedConnections checks that large uploads use dedicated
// connections, and that small uploads share an HTTP/2 connection.
func TestLargeUploadsUseDedicatedConnections(t *testing.T) {
	t.Parallel()
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, r.Proto) }))
	s.EnableHTTP2 = true
	s.StartTLS()
	t.Cleanup(s.Close)
	client := newClient(t, httpclient.Options{CAFile: caFile(t, s)})
	for size, want := range map[int]string{1: "HTTP/2.0", schedule.MaxSmall: "HTTP/2.0", schedule.MaxSmall + 1: "HTTP/1.1"} {
		resp := put(t, client, s.URL, size)
		if resp.Proto != want {
			t.Errorf("%d bytes go by %s, not %s", size, resp.Proto, want)
		}
	}
}

// TestRefusedUpload covers a server that rejects a large upload. The client must
// receive the response even if the server closes the connection early.
func TestRefusedUpload(t *testing.T) {
	t.Parallel()
	// In a bubble, the server's timeout for unread uploads never passes before the client
	// has read the response.
	synctest.Test(t, func(t *testing.T) {
		network := memnet.New()
		s := &httptest.Server{Listener: network.Listen("127.0.0.1:443"), Config: &http.Server{Handler: status(http.StatusRequestEntityTooLarge)}}
		s.StartTLS()
		t.Cleanup(s.Close)
		client := newClient(t, httpclient.Options{CAFile: caFile(t, s), Dial: network.Dial})
		for range 20 {
			if resp := put(t, client, s.URL, 16<<20); resp.StatusCode != http.StatusRequestEntityTooLarge {
				t.Errorf("got %s", resp.Status)
			}
		}
	})
}

func put(t *testing.T, client *http.Client, target string, size int) *http.Response {
	t.Helper()
	// The struct hides that the body is a *bytes.Reader, which could be read again.
	body := struct{ *bytes.Reader }{bytes.NewReader(make([]byte, size))}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPut, target, body)
	if err != nil {
		t.Fatal(err)
	}
	req.ContentLength = int64(size)
	resp, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	return resp
}
